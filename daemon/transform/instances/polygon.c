// SPDX-License-Identifier: MIT
/*
 * rleFrPoly() of pycocotools. It makes the outline in fifths of a pixel, takes the places where
 * that goes from one column to the next, and sorts them: between two of them are the pixels inside.
 * Here each place turns a bit of a map instead, and a bit that was turned an odd number of times
 * begins or ends a run, so nothing is sorted and no list is kept.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "transform/instances/instance_mask.h"

#define FINE 5 /* steps of a pixel */

struct outline {
	uint8_t *turns; /* of each pixel, column by column */
	int64_t width, height;
	int64_t x, y; /* the last step */
	bool begun;
	int64_t first, end; /* of the columns in which bits may be turned */
};

struct step {
	int64_t x, y;
};

static struct step step_of(const double *point)
{
	/* As there: cut, not rounded down, so -0.15 is 0. */
	return (struct step){(int64_t)(FINE * point[0] + .5), (int64_t)(FINE * point[1] + .5)};
}

/* Turn the bit at which the outline crosses from one column to the next. */
static void outline_cross(struct outline *outline, struct step to)
{
	double x = (double)(to.x < outline->x ? to.x : to.x - 1);
	double y = (double)(to.y < outline->y ? to.y : outline->y);
	x = (x + .5) / FINE - .5;
	if (floor(x) != x || x < 0 || x > (double)(outline->width - 1))
		return;
	y = (y + .5) / FINE - .5;
	y = y < 0 ? 0 : y > (double)outline->height ? (double)outline->height : y;
	size_t at = (size_t)x * (size_t)outline->height + (size_t)ceil(y);
	if (at < (size_t)(outline->width * outline->height)) /* else it is the end */
		outline->turns[at] ^= 1;
}

static void outline_step(struct outline *outline, struct step to)
{
	if (outline->begun && to.x != outline->x)
		outline_cross(outline, to);
	outline->x = to.x;
	outline->y = to.y;
	outline->begun = true;
}

/* Walk along an edge, always from its left or upper end, as there: that decides the rounding. */
static void outline_edge(struct outline *outline, struct step from, struct step to)
{
	int64_t dx = llabs(to.x - from.x), dy = llabs(to.y - from.y), most = dx > dy ? dx : dy;
	bool flat = dx >= dy;
	bool flip = flat ? dx > 0 && from.x > to.x : from.y > to.y;
	struct step low = flip ? to : from, high = flip ? from : to;
	double slope = most == 0 ? 0
		       : flat	 ? (double)(high.y - low.y) / (double)dx
				 : (double)(high.x - low.x) / (double)dy;
	for (int64_t i = 0; i <= most; i++) {
		int64_t t = flip ? most - i : i;
		struct step at =
			flat ? (struct step){low.x + t,
					     (int64_t)((double)low.y + slope * (double)t + .5)}
			     : (struct step){(int64_t)((double)low.x + slope * (double)t + .5),
					     low.y + t};
		outline_step(outline, at);
	}
}

/* Can the outline be walked? Then `*steps_out` are as many as that takes. */
static int polygon_check(const struct instance_map *map, const double *points, size_t count,
			 uint64_t *steps_out, struct fault *fault)
{
	uint64_t steps = map->steps;
	if (count < 3 || count > POLYGON_POINTS_MAX)
		return fault_say(fault, INSTANCE_E_BAD,
				 "a polygon has 3 to %d points, and this one %zu",
				 POLYGON_POINTS_MAX, count);
	for (size_t i = 0; i < 2 * count; i++)
		if (!(fabs(points[i]) <= POLYGON_EDGE_MAX))
			return fault_say(fault, INSTANCE_E_BAD,
					 "point %zu of the polygon is %g, which is no place within "
					 "%g pixels of the picture: write it in its pixels",
					 i / 2, points[i], POLYGON_EDGE_MAX);
	for (size_t i = 0; i < count; i++) {
		struct step from = step_of(points + 2 * i);
		struct step to = step_of(points + 2 * ((i + 1) % count));
		int64_t dx = llabs(to.x - from.x), dy = llabs(to.y - from.y);
		steps += (uint64_t)(dx > dy ? dx : dy) + 1;
	}
	if (steps > POLYGON_STEPS_MAX)
		return fault_say(fault, INSTANCE_E_BAD,
				 "the outlines of polygons are %llu pixels long, the limit is "
				 "%llu",
				 (unsigned long long)(steps / FINE),
				 (unsigned long long)(POLYGON_STEPS_MAX / FINE));
	*steps_out = steps;
	return 0;
}

/* Find the columns that the outline goes through, and the one behind them, in which a bit stands
 * that ends a run at the lower edge. All others have as many bits turned as none. */
static void outline_bound(struct outline *outline, const double *points, size_t count)
{
	int64_t least = INT64_MAX, most = INT64_MIN;
	for (size_t i = 0; i < count; i++) {
		int64_t x = step_of(points + 2 * i).x;
		least = x < least ? x : least;
		most = x > most ? x : most;
	}
	least = least / FINE - 1;
	most = most / FINE + 2;
	outline->first = least < 0 ? 0 : least > outline->width ? outline->width : least;
	outline->end = most < outline->first   ? outline->first
		       : most > outline->width ? outline->width
					       : most;
}

/* Set the bits of the pixels between two turns. */
static void outline_fill(const struct outline *outline, const struct instance_map *map,
			 uint8_t bits)
{
	uint8_t inside = 0;
	for (int64_t x = outline->first; x < outline->end; x++) {
		const uint8_t *turn = outline->turns + (size_t)(x * outline->height);
		uint8_t *pixel = map->pixels + x;
		for (uint32_t y = 0; y < map->height; y++, pixel += map->width) {
			inside ^= turn[y];
			if (inside)
				*pixel |= bits;
		}
	}
}

int polygon_draw(struct instance_map *map, const double *points, size_t count, uint8_t bits,
		 struct buffer *scratch, struct fault *fault)
{
	uint64_t steps = 0;
	int r = polygon_check(map, points, count, &steps, fault);
	if (r == 0)
		r = buffer_reserve(scratch, (size_t)map->width * map->height);
	if (r)
		return r;
	map->steps = steps;
	struct outline outline = {
		.turns = scratch->data, .width = map->width, .height = map->height};
	outline_bound(&outline, points, count);
	memset(outline.turns + (size_t)(outline.first * outline.height), 0,
	       (size_t)((outline.end - outline.first) * outline.height));
	for (size_t i = 0; i < count; i++)
		outline_edge(&outline, step_of(points + 2 * i),
			     step_of(points + 2 * ((i + 1) % count)));
	outline_fill(&outline, map, bits);
	return 0;
}
