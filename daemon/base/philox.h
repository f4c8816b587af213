/* SPDX-License-Identifier: MIT */
/*
 * Counter-based randomness: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as
 * easy as 1, 2, 3", SC 2011). A function of key and counter; no state anywhere. Any thread.
 */
#ifndef STOKER_BASE_PHILOX_H
#define STOKER_BASE_PHILOX_H

#include <stdint.h>

struct philox {
	uint32_t word[4];
};

struct philox philox(uint64_t key, const uint32_t counter[4]);

/* Whose randomness: counter = (draw, epoch, low position, high position), key = augment seed. */
struct draw_key {
	uint64_t seed;
	uint32_t epoch;
	uint64_t position;
};

/* The draws of one of a sample's views, below 256: position + view * 2^56. So the first has those
 * of a sample that has no others. */
struct draw_key draw_view(const struct draw_key *key, uint32_t view);

/* A number in [0, 1) with 53 random bits; `draw` tells one draw of a sample from another. */
double draw_uniform(const struct draw_key *key, uint32_t draw);
/* A whole number in [0, bound), bound > 0, without bias worth the name (64 bits are reduced). */
uint64_t draw_below(const struct draw_key *key, uint32_t draw, uint64_t bound);

#endif
