// SPDX-License-Identifier: MIT
#include "transform/axis_map.h"

#include <string.h>

int axis_map_begin(struct axis_map *map, struct span window)
{
	size_t count = (size_t)window.count;
	int r = buffer_reserve(&map->memory, count * (sizeof(*map->at) + 1));
	if (r < 0)
		return r;
	map->count = window.count;
	map->filled = false;
	map->at = (int32_t *)map->memory.data;
	map->fill = map->memory.data + count * sizeof(*map->at);
	for (size_t i = 0; i < count; i++)
		map->at[i] = window.first + (int32_t)i;
	memset(map->fill, 0, count);
	return 0;
}

static int32_t clamp(int32_t at, int32_t in)
{
	return at < 0 ? 0 : at < in ? at : in - 1;
}

/* The picture continued on both sides by its mirror image, again and again. */
static int32_t mirror(int32_t at, int32_t in, bool edge_twice)
{
	if (in == 1)
		return 0;
	int32_t period = edge_twice ? 2 * in : 2 * in - 2;
	at %= period;
	if (at < 0)
		at += period;
	return at < in ? at : period - at - (edge_twice ? 1 : 0);
}

static void back_window(struct axis_map *map, const struct step_axis *axis, const struct step *step,
			unsigned number)
{
	for (int32_t i = 0; i < map->count; i++) {
		int32_t at = map->at[i] + axis->offset;
		if (at < 0 || at >= axis->in) {
			if (step->border == BORDER_CONSTANT && !map->fill[i]) {
				map->fill[i] = (uint8_t)(number + 1);
				map->filled = true;
			}
			if (step->border == BORDER_REFLECT || step->border == BORDER_SYMMETRIC)
				at = mirror(at, axis->in, step->border == BORDER_SYMMETRIC);
			else
				at = clamp(at, axis->in);
		}
		map->at[i] = at;
	}
}

/* Pillow adds up the positions from the left: the rounding of the sum is part of the result. */
static int back_nearest(struct axis_map *map, const struct step_axis *axis)
{
	struct span span = axis_map_span(map);
	int r = buffer_reserve(&map->nearest, (size_t)span.count * sizeof(int32_t));
	if (r < 0)
		return r;
	int32_t *nearest = (int32_t *)map->nearest.data;
	double scale = (double)axis->taken / axis->out, at = axis->offset + scale * 0.5;
	for (int32_t i = 0; i < span.first + span.count; i++, at += scale) {
		if (i >= span.first)
			nearest[i - span.first] = clamp((int32_t)at, axis->in);
	}
	for (int32_t i = 0; i < map->count; i++)
		map->at[i] = nearest[map->at[i] - span.first];
	return 0;
}

int axis_map_back(struct axis_map *map, const struct step_axis *axis, const struct step *step,
		  unsigned number)
{
	if (step->kind == STEP_RESIZE)
		return back_nearest(map, axis);
	if (step->kind == STEP_WINDOW) {
		back_window(map, axis, step, number);
	} else if (axis->flip) {
		for (int32_t i = 0; i < map->count; i++)
			map->at[i] = axis->in - 1 - map->at[i];
	}
	return 0;
}

struct span axis_map_span(const struct axis_map *map)
{
	int32_t first = map->at[0], last = first;
	for (int32_t i = 1; i < map->count; i++) {
		if (map->at[i] < first)
			first = map->at[i];
		if (map->at[i] > last)
			last = map->at[i];
	}
	return (struct span){first, last - first + 1};
}

bool axis_map_plain(const struct axis_map *map)
{
	if (map->filled)
		return false;
	for (int32_t i = 1; i < map->count; i++) {
		if (map->at[i] != map->at[0] + i)
			return false;
	}
	return true;
}

void axis_map_deinit(struct axis_map *map)
{
	buffer_deinit(&map->memory);
	buffer_deinit(&map->nearest);
	*map = AXIS_MAP_NULL;
}
