/* SPDX-License-Identifier: MIT */
/*
 * An axis map: for each pixel along one axis of a result, which pixel of the source it is. Crops,
 * pads, flips and nearest-neighbour resizes only move pixels, each axis by itself, so any sequence
 * of them is two axis maps. They are found by going through the steps backwards, from the result.
 * Owns its memory, which is reused for the next picture; a worker's thread.
 */
#ifndef STOKER_TRANSFORM_AXIS_MAP_H
#define STOKER_TRANSFORM_AXIS_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "transform/steps.h"

struct axis_map {
	int32_t count;
	int32_t *at;   /* always inside of the source, also where a fill is seen */
	uint8_t *fill; /* 1 + the number of the step whose fill is seen there; 0: none */
	bool filled;   /* some fill is not 0 */
	struct buffer memory;
	struct buffer nearest; /* scratch: where the pixels of a resize come from */
};
#define AXIS_MAP_NULL ((struct axis_map){0})

/* Begin with the pixels `window` of the result. 0 or -ENOMEM. */
int axis_map_begin(struct axis_map *map, struct span window);
/* Go back over step `number`, which only moves pixels. 0 or -ENOMEM. */
int axis_map_back(struct axis_map *map, const struct step_axis *axis, const struct step *step,
		  unsigned number);
/* The source's pixels from the first to the last one of the map. */
struct span axis_map_span(const struct axis_map *map);
/* Is it a plain crop: consecutive pixels, no fill? */
bool axis_map_plain(const struct axis_map *map);
void axis_map_deinit(struct axis_map *map);

#endif
