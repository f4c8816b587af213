/* SPDX-License-Identifier: MIT */
/*
 * Tile: the place of one of four arrays of equal size in their mosaic, which is as large as one of
 * them. The four meet in a point; each is moved until a corner of it is there, and what is out of
 * the mosaic is cut off. Numbers and the caller's memory; any thread.
 */
#ifndef STOKER_TRANSFORM_TRANSFORMS_DETECTION_TILE_H
#define STOKER_TRANSFORM_TRANSFORMS_DETECTION_TILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/image.h"
#include "transform/transforms/detection/box.h"

#define TILES 4 /* by corner: upper left, upper right, lower left, lower right */

struct tile {
	int32_t width, height; /* of an array */
	int32_t x, y;	       /* its pixel (u, v) is the mosaic's (u + x, v + y) */
	struct rect seen;      /* of the mosaic: this tile */
};

/* The tile of a corner, where four arrays of width x height meet in (x, y). */
struct tile tile_of(unsigned corner, int32_t x, int32_t y, int32_t width, int32_t height);
/* Find its share of the mosaic. */
float tile_share(const struct tile *tile);

/* Move a box, x0, y0, x1, y1, with its array, and clip it to the tile; one of which nothing is left
 * becomes NaN. */
void tile_move_box(const struct tile *tile, double box[BOX_NUMBERS]);

/* Copy what is seen of a plane of `pixel` bytes each into the mosaic's plane. For the upper left
 * tile both may be the same memory. */
void tile_copy(const struct tile *tile, size_t pixel, const uint8_t *from, uint8_t *to);
/* Set the mosaic's plane to 0 but for the tile. */
void tile_clear_others(const struct tile *tile, size_t pixel, uint8_t *plane);

#endif
