/* SPDX-License-Identifier: MIT */
/*
 * Annotations of a picture, moved as the picture is: boxes, points, and a mask, which is a second
 * picture. Coordinates are in pixels from the upper left corner: pixel i is from i to i + 1.
 * Numbers only: no pixels, no memory of its own. A worker's thread.
 */
#ifndef STOKER_TRANSFORM_ANNOTATION_H
#define STOKER_TRANSFORM_ANNOTATION_H

#include <stdbool.h>
#include <stdint.h>

#include "transform/steps.h"
#include "transform/transforms/detection/tile.h"

/*
 * Move `count` points (x, y) or boxes (x0, y0, x1, y1) as the steps move the picture, in float64,
 * rounded once, boxes in the format that the steps end with. Boxes are clipped to the picture after
 * each crop and warp: one that is outside becomes empty (x0 = x1 or y0 = y1). After a warp a box is
 * the bounding box of its four corners. Points may lie outside of the picture. NaN stays NaN. In
 * the end they are moved with a `tile` (or NULL) into its mosaic.
 */
void annotation_move(const struct steps *steps, const struct tile *tile, float *numbers,
		     uint32_t count, bool boxes);

/* Move steps->boxes by the steps that have not moved them yet, each float32 rounded: for a
 * transform that is drawn by where they are now. They stay x0, y0, x1, y1. */
void annotation_catch_up(struct steps *steps);

/* Write to `box` which part of the result is a part of the picture, whose size was width x height:
 * x0, y0, x1, y1; with a `tile` (or NULL), of its mosaic. */
void annotation_real(const struct steps *steps, const struct tile *tile, int32_t width,
		     int32_t height, float box[4]);

/* Change the picture's steps to those of its mask: no changes of colour, nearest pixels, fills of
 * 0. */
void annotation_mask_steps(struct steps *steps);

#endif
