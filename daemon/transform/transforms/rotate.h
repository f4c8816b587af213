/* SPDX-License-Identifier: MIT */
/* Pillow's Image.rotate as a step. Numbers only. A worker's thread. */
#ifndef STOKER_TRANSFORM_TRANSFORMS_ROTATE_H
#define STOKER_TRANSFORM_TRANSFORMS_ROTATE_H

#include "transform/steps.h"

/*
 * Rotate the picture counter-clockwise by so many degrees about `center` (NULL: its middle), in its
 * own size, or with `expand` in the size that shows all of it. Multiples of 90 degrees only move
 * pixels where Pillow does the same. 0, or with `expand` STEPS_E_IMAGE.
 */
int rotate_add(struct steps *steps, double degrees, const double *center, bool expand,
	       struct warp_look look, struct fault *fault);

#endif
