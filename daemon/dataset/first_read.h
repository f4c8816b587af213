/* SPDX-License-Identifier: MIT */
/*
 * Record of the first read of a file: a hash of its content then, and a version of the file that
 * has this content. All zeros before the first read. Any number of threads; looks at no file.
 */
#ifndef STOKER_DATASET_FIRST_READ_H
#define STOKER_DATASET_FIRST_READ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/stamp.h"

struct storage_version;

struct first_read {
	_Atomic uint64_t first;	  /* hash of its content ^ hash of its identity; 0: not read yet */
	_Atomic uint64_t version; /* hash of a version that has both; 0: not read yet */
};

/*
 * The stamp of a file that was read; false if it is not the file that was first read. Only a
 * version that is not known is hashed: that of the first read, and one that differs in ctime or
 * device, as after chmod(), link() or a mount. There the content decides.
 */
bool first_read_stamp(struct first_read *read, const struct digest_secret *secret,
		      const struct storage_version *version, const struct buffer *bytes,
		      struct stamp *out);
/* Hash the content in any case, where the version says nothing of it; else as first_read_stamp().
 */
bool first_read_stamp_hashed(struct first_read *read, const struct digest_secret *secret,
			     const struct storage_version *version, const struct buffer *bytes,
			     struct stamp *out);
/* The stamp by the version alone; false if the file was not read in this version. */
bool first_read_stamp_kept(const struct first_read *read, const struct storage_version *version,
			   struct stamp *out);

#endif
