/* SPDX-License-Identifier: MIT */
/*
 * An alias table: draws from n weights in O(1) (Walker 1977; made as Vose has it, "A linear
 * algorithm for generating random numbers with a given distribution", 1991). Entry i gives i below
 * its threshold, of 2^32, and else another. Plain memory of the caller; any thread.
 */
#ifndef STOKER_BASE_ALIAS_H
#define STOKER_BASE_ALIAS_H

#include <stdint.h>

struct alias {
	uint32_t threshold, other;
};

enum {
	ALIAS_E_WEIGHTS = 1, /* their sum, times their number, is infinite */
};

/* Of `count` > 0 weights, all above 0, which are used up. 0, ALIAS_E_WEIGHTS or -ENOMEM. */
int alias_make(struct alias **out, double *weights, uint64_t count);

#endif
