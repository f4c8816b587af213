/* SPDX-License-Identifier: MIT */
/*
 * Echo: an epoch in which each of n samples stands `times` times (Choi et al., "Faster neural
 * network training with data echoing", arXiv 1907.05550). The samples are cut into windows of
 * `window` at most, as equal as can be, and each window is gone through `times` times, one turn
 * after the other: the first turn in the order that the samples have, each later one with either
 * half of the window shuffled for itself, so that a sample comes again behind half a window at
 * least. Pure arithmetic, O(1) both ways; any thread.
 */
#ifndef STOKER_BASE_ECHO_H
#define STOKER_BASE_ECHO_H

#include <stdbool.h>
#include <stdint.h>

struct echo {
	uint64_t n;	 /* samples, > 0 */
	uint64_t window; /* of so many samples, > 0 */
	uint32_t times;	 /* > 0 */
	bool shuffle;	 /* false: every turn in the first's order */
	uint64_t seed;
};

/* Which of the n samples' places stands at `position` < n * times. */
uint64_t echo_place(const struct echo *echo, uint32_t epoch, uint64_t position);
/* Where the sample of this place stands for the turn-th time, `turn` < times. */
uint64_t echo_position(const struct echo *echo, uint32_t epoch, uint64_t place, uint32_t turn);

#endif
