/* SPDX-License-Identifier: MIT */
/*
 * A track: for each pixel along one axis of a result, which pixel of the source it comes from.
 * Crops, pads, flips and nearest-neighbour resizes only move pixels, each axis for itself, so any
 * run of them is two tracks, found by walking the steps backward from the result. Owns its memory,
 * which is reused from picture to picture; a worker's thread.
 */
#ifndef STOKER_TRANSFORM_AXIS_MAP_H
#define STOKER_TRANSFORM_AXIS_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "transform/steps.h"

struct axis_map {
	int32_t count;
	int32_t *at;   /* always inside the source, even where it is not looked at */
	uint8_t *fill; /* 1 + the number of the step whose fill is seen there; 0: none */
	bool filled;   /* some fill is not 0 */
	struct buffer memory;
	struct buffer nearest; /* where the pixels of a resize come from, while walking */
};
#define AXIS_MAP_NULL ((struct axis_map){0})

/* Begin with the pixels `window` of the result. 0 or -ENOMEM. */
int axis_map_begin(struct axis_map *map, struct span window);
/* Walk back over step `number`, which is no filtered resize. 0 or -ENOMEM. */
int axis_map_back(struct axis_map *map, const struct step_axis *axis, const struct step *step,
		  unsigned number);
/* The pixels of the source from the first to the last that is looked at. */
struct span axis_map_span(const struct axis_map *map);
/* Nothing but a window: neighbours stay neighbours, nothing is filled. */
bool axis_map_plain(const struct axis_map *map);
void axis_map_deinit(struct axis_map *map);

#endif
