/* SPDX-License-Identifier: MIT */
/*
 * The alias method: a table that draws one of n weighted entries in O(1) (Walker 1977; built by the
 * algorithm of Vose, "A linear algorithm for generating random numbers with a given distribution",
 * 1991). A draw takes entry i and a random 32-bit number: below the threshold it gives i, else
 * `other`. Plain memory of the caller; any thread.
 */
#ifndef STOKER_BASE_ALIAS_H
#define STOKER_BASE_ALIAS_H

#include <stdint.h>

struct alias {
	uint32_t threshold, other;
};

enum {
	ALIAS_E_WEIGHTS = 1, /* the sum of the weights, times their count, overflows */
};

/* Build a table of `count` > 0 entries; free() it. `weights` are all above 0 and are overwritten.
 * 0, ALIAS_E_WEIGHTS or -ENOMEM. */
int alias_make(struct alias **out, double *weights, uint64_t count);

#endif
