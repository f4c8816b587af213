// SPDX-License-Identifier: MIT
#include "transform/transforms/detection/tile.h"

#include <math.h>
#include <string.h>

struct tile tile_of(unsigned corner, int32_t x, int32_t y, int32_t width, int32_t height)
{
	const bool right = corner & 1, low = corner & 2;
	return (struct tile){
		.width = width,
		.height = height,
		.x = right ? x : x - width,
		.y = low ? y : y - height,
		.seen = {right ? x : 0, low ? y : 0, right ? width - x : x, low ? height - y : y},
	};
}

float tile_share(const struct tile *tile)
{
	return (float)((double)tile->seen.width * tile->seen.height /
		       ((double)tile->width * tile->height));
}

static double clip(double x, int32_t first, int32_t count)
{
	return x < first ? first : x > first + count ? first + count : x;
}

void tile_move_box(const struct tile *tile, double box[BOX_NUMBERS])
{
	const struct rect *seen = &tile->seen;
	for (int i = 0; i < BOX_NUMBERS; i += 2) {
		box[i] = clip(box[i] + tile->x, seen->x, seen->width);
		box[i + 1] = clip(box[i + 1] + tile->y, seen->y, seen->height);
	}
	if (box[0] < box[2] && box[1] < box[3])
		return;
	for (int i = 0; i < BOX_NUMBERS; i++)
		box[i] = NAN;
}

void tile_copy(const struct tile *tile, size_t pixel, const uint8_t *from, uint8_t *to)
{
	const struct rect *seen = &tile->seen;
	const size_t stride = (size_t)tile->width * pixel;
	/* From the top on: of the upper left tile a row comes from one that is below it. */
	for (int32_t y = seen->y; y < seen->y + seen->height; y++)
		memmove(to + (size_t)y * stride + (size_t)seen->x * pixel,
			from + (size_t)(y - tile->y) * stride + (size_t)(seen->x - tile->x) * pixel,
			(size_t)seen->width * pixel);
}

void tile_clear_others(const struct tile *tile, size_t pixel, uint8_t *plane)
{
	const struct rect *seen = &tile->seen;
	const size_t stride = (size_t)tile->width * pixel, left = (size_t)seen->x * pixel;
	const size_t end = left + (size_t)seen->width * pixel;
	for (int32_t y = 0; y < tile->height; y++, plane += stride) {
		const bool within = y >= seen->y && y < seen->y + seen->height;
		memset(plane, 0, within ? left : stride);
		if (within)
			memset(plane + end, 0, stride - end);
	}
}
