/* SPDX-License-Identifier: MIT */
/*
 * The random numbers of one transform for one sample. Draw n (below 65536) of the transform at
 * index t of its list is number t * 65536 + n of the sample, a function of seed, epoch and position
 * (base/philox.h). Any thread.
 *
 * The index counts all transforms but ToTensor and Normalize, in the order in which they are
 * written. Those inside another transform count whether they are run or not:
 * [RandomApply([A, B]), C] has the indices 0, 1, 2, 3. So what is drawn for one transform does not
 * depend on what was drawn for another.
 */
#ifndef STOKER_TRANSFORM_DRAWS_H
#define STOKER_TRANSFORM_DRAWS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/philox.h"

struct draws {
	const struct draw_key *key;
	uint32_t first; /* number of draw 0 */
};

static inline struct draws draws_of(const struct draw_key *key, unsigned index)
{
	return (struct draws){key, (uint32_t)index << 16};
}

/* Draw `number`, in [0, 1). */
static inline double draws_uniform(const struct draws *draws, uint32_t number)
{
	return draw_uniform(draws->key, draws->first + number);
}

/* Draw a whole number in [0, bound). */
static inline int32_t draws_below(const struct draws *draws, uint32_t number, int32_t bound)
{
	return (int32_t)draw_below(draws->key, draws->first + number, (uint64_t)bound);
}

/* Draw a number in [interval[0], interval[1]). */
static inline double draws_between(const struct draws *draws, uint32_t number,
				   const double interval[2])
{
	return interval[0] + draws_uniform(draws, number) * (interval[1] - interval[0]);
}

/* Does an event of probability `p` happen, by draw 0? */
static inline bool draws_chance(const struct draws *draws, double p)
{
	return draws_uniform(draws, 0) < p;
}

/* As Python's round(): halves to even. For x below 2^52. */
static inline double round_even(double x)
{
	double down = floor(x), rest = x - down;
	if (rest > 0.5 || (rest == 0.5 && fmod(down, 2.0) != 0.0))
		return down + 1.0;
	return down;
}

#endif
