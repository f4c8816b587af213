/* SPDX-License-Identifier: MIT */
/* Producers of the conformance program of libstoker: samples that docs/LANGUAGES.md has formulas
 * of. */
#ifndef STOKER_CONFORMANCE_PRODUCE_H
#define STOKER_CONFORMANCE_PRODUCE_H

#include "request.h"

/* Make samples as long as the daemon is there, in one producer; what stoker_produce() returns. */
int produce(struct stoker *stoker, const struct request *request);

#endif
