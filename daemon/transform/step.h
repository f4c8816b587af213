/* SPDX-License-Identifier: MIT */
/*
 * What a transform is made of, for who turns one into steps: its draws, and adding a step. The head
 * of geometry.c lists which draws each transform takes. A worker's thread.
 */
#ifndef STOKER_TRANSFORM_STEP_H
#define STOKER_TRANSFORM_STEP_H

#include <math.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/philox.h"
#include "transform/steps.h"

/* The draws of one transform of a sample. */
struct draws {
	const struct draw_key *key;
	uint32_t first;
};

/* Draw `number` (below 65536), in [0, 1). */
static inline double uniform(const struct draws *draws, uint32_t number)
{
	return draw_uniform(draws->key, draws->first + number);
}

/* The same as a whole number in [0, bound). */
static inline int32_t below(const struct draws *draws, uint32_t number, int32_t bound)
{
	return (int32_t)draw_below(draws->key, draws->first + number, (uint64_t)bound);
}

/* As Python's round(): halves to even. Below 2^52. */
static inline double round_even(double x)
{
	double down = floor(x), rest = x - down;
	if (rest > 0.5 || (rest == 0.5 && fmod(down, 2.0) != 0.0))
		return down + 1.0;
	return down;
}

/* A step that makes a picture of width x height, all else zero: the caller fills it in. Of too many
 * steps the last one is written over, and geometry_add() refuses the picture. */
struct step *step_add(struct steps *steps, enum step_kind kind, int32_t width,
		      int32_t height);

/* What a transform adds to the steps so far. 0, or GEOMETRY_E_IMAGE and words. */
typedef int steps_function(struct steps *steps, const struct transform *transform,
			      const struct draws *draws, struct fault *fault);

#endif
