/* SPDX-License-Identifier: MIT */
/*
 * From a list of transforms to the steps of one picture: draws the random numbers and has each
 * transform's row append its steps. Knows no transform by name. A worker's thread.
 */
#ifndef STOKER_TRANSFORM_STEPS_DRAW_H
#define STOKER_TRANSFORM_STEPS_DRAW_H

#include "base/fault.h"
#include "base/philox.h"
#include "transform/steps.h"
#include "transform/transform.h"

/* Append what one transform, which holds no others, does at `index` of its list. 0 or
 * STEPS_E_IMAGE. */
int steps_draw_one(struct steps *steps, const struct transform *transform, unsigned index,
		   const struct draw_key *key, struct fault *fault);

/* Append what `count` entries of `list` do, from `first` on; those that hold others choose which of
 * these do anything, and in which order. 0 or STEPS_E_IMAGE. */
int steps_draw(struct steps *steps, const struct transform *list, unsigned first, unsigned count,
	       const struct draw_key *key, struct fault *fault);

/* Append what each of `count` entries does, those within others too, whatever would be chosen: the
 * most that there can be to do. 0 or STEPS_E_IMAGE. */
int steps_draw_all(struct steps *steps, const struct transform *list, unsigned count,
		   const struct draw_key *key, struct fault *fault);

#endif
