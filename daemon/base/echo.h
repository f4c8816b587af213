/* SPDX-License-Identifier: MIT */
/*
 * Data echoing: an epoch that has each of n samples `times` times (Choi et al., "Faster neural
 * network training with data echoing", arXiv 1907.05550). The epoch's order is cut into windows of
 * nearly equal size, at most `window` samples, and each window is repeated `times` times in a row.
 * The first turn has the epoch's order; each later one shuffles the two halves of the window
 * separately, so that at least half a window lies between two turns of a sample. Pure arithmetic,
 * O(1) in both directions; any thread.
 */
#ifndef STOKER_BASE_ECHO_H
#define STOKER_BASE_ECHO_H

#include <stdbool.h>
#include <stdint.h>

struct echo {
	uint64_t n;	 /* samples, > 0 */
	uint64_t window; /* the most samples in a window, > 0 */
	uint32_t times;	 /* > 0 */
	bool shuffle;	 /* false: all turns in the order of the first */
	uint64_t seed;
};

/* Place in the order of n samples of `position` < n * times of the epoch. */
uint64_t echo_place(const struct echo *echo, uint32_t epoch, uint64_t position);
/* The position in the epoch of turn `turn` < times of this place. */
uint64_t echo_position(const struct echo *echo, uint32_t epoch, uint64_t place, uint32_t turn);

#endif
