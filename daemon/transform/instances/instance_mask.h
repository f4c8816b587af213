/* SPDX-License-Identifier: MIT */
/*
 * Instance masks: COCO's polygons and run lengths as pixels, the same ones as pycocotools makes. A
 * mask is drawn into a byte map by setting bits where the instance is, so eight fit into one map.
 * Knows no file and no JSON. Any thread.
 *
 * What comes from a dataset may be hostile: counts and coordinates are limited before anything is
 * reserved or drawn, and refused in words.
 */
#ifndef STOKER_TRANSFORM_INSTANCES_INSTANCE_MASK_H
#define STOKER_TRANSFORM_INSTANCES_INSTANCE_MASK_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/fault.h"

#define POLYGON_POINTS_MAX 65536
#define POLYGON_EDGE_MAX 131072.0 /* pixels from the upper left corner, in each direction */
#define POLYGON_STEPS_MAX ((uint64_t)1 << 26) /* fifths of a pixel along all outlines of a map */

/* A map of one byte a pixel, row by row, borrowed. `width` times `height` fits into 32 bits, and
 * neither is 0. `steps`: of the outlines that were drawn into it; 0 at first. */
struct instance_map {
	uint8_t *pixels;
	uint32_t width, height;
	uint64_t steps;
};

enum {
	INSTANCE_E_BAD = 1, /* it is no mask of this map; the words say why */
};

/* Set `bits` of the pixels inside a polygon of `count` points, x and y of each in `points`.
 * `scratch` holds a byte a pixel for the call. Nothing is set on a failure: INSTANCE_E_BAD or
 * -ENOMEM. */
int polygon_draw(struct instance_map *map, const double *points, size_t count, uint8_t bits,
		 struct buffer *scratch, struct fault *fault);

/* Set `bits` where the runs are ones: they are in turn of zeros and of ones, down each column
 * from the left one on. They have to be as long as the map together. `text`: as pycocotools packs
 * them; `counts`: one by one. 0 or INSTANCE_E_BAD; nothing is set then. */
int runs_draw_text(const struct instance_map *map, const char *text, size_t size, uint8_t bits,
		   struct fault *fault);
int runs_draw(const struct instance_map *map, const uint32_t *counts, size_t count, uint8_t bits,
	      struct fault *fault);

#endif
