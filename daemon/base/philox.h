/* SPDX-License-Identifier: MIT */
/*
 * Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random
 * numbers: as easy as 1, 2, 3", SC 2011). A pure function of key and counter, without state; any
 * thread.
 */
#ifndef STOKER_BASE_PHILOX_H
#define STOKER_BASE_PHILOX_H

#include <stdint.h>

struct philox {
	uint32_t word[4];
};

struct philox philox(uint64_t key, const uint32_t counter[4]);

/* Key of a sample's draws: key = augment seed, counter = (draw, epoch, low position, high
 * position). */
struct draw_key {
	uint64_t seed;
	uint32_t epoch;
	uint64_t position;
};

/* The key of view `view` < 256 of a sample: position + view * 2^56. So view 0 has the draws of a
 * sample without views. */
struct draw_key draw_view(const struct draw_key *key, uint32_t view);

/* A number in [0, 1) with 53 random bits; each draw of a sample has its own number `draw`. */
double draw_uniform(const struct draw_key *key, uint32_t draw);
/* An integer in [0, bound), bound > 0, with negligible bias: 64 random bits are reduced. */
uint64_t draw_below(const struct draw_key *key, uint32_t draw, uint64_t bound);

#endif
