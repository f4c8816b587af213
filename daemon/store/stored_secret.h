/* SPDX-License-Identifier: MIT */
/*
 * The secret of a picture store, in a file of its folder: all checksums and stamps there are made
 * with it, so nobody can make a picture who cannot read the file, and none that was made by another
 * version of the decoder is taken for one of this. Blocks; one thread.
 */
#ifndef STOKER_STORE_STORED_SECRET_H
#define STOKER_STORE_STORED_SECRET_H

#include <stdbool.h>

#include "base/digest.h"
#include "base/fault.h"

/* The secret of this version in the folder `fd`, or, with `*again_out`, one that is new there. 0,
 * also with words: what was there is not used, for it is damaged; no words if it is of another
 * version. 1, with words: it can be neither read nor made. */
int stored_secret_get(int fd, const struct digest *version, struct digest_secret *out,
		      bool *again_out, struct fault *fault);

#endif
