/* SPDX-License-Identifier: MIT */
/*
 * What follows a picture through its geometry: places in it, and a second picture, its mask. Places
 * are in pixels, from the picture's upper left corner, so that pixel i is from i to i + 1. Numbers
 * only: no pixel, no memory of its own. A worker's thread.
 */
#ifndef STOKER_TRANSFORM_ANNOTATION_H
#define STOKER_TRANSFORM_ANNOTATION_H

#include <stdbool.h>
#include <stdint.h>

#include "transform/steps.h"

/*
 * Move `count` points (x, y) or boxes (x0, y0, x1, y1) to where the steps move them, in float64,
 * rounded once. Boxes are cut to the picture behind each crop and warp, so of one that is not to be
 * seen nothing is left (x0 = x1 or y0 = y1); behind a warp a box is the one around its four
 * corners. Points may come to lie beside the picture. What is NaN stays NaN.
 */
void annotation_move(const struct steps *steps, float *numbers, uint32_t count, bool boxes);

/* Make the steps those of the mask: no colours, each pixel one of the mask's, 0 where there is
 * none. */
void annotation_mask_steps(struct steps *steps);

#endif
