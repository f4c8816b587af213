/* SPDX-License-Identifier: MIT */
/*
 * The pixels of a row of a warp, from the places of the source that they are at. Places are in
 * pixels, with a pixel's centre at a half, as in Pillow; where a place is outside of the picture or
 * NaN, the fill colour stands.
 */
#ifndef STOKER_TRANSFORM_KERNELS_WARP_KERNEL_H
#define STOKER_TRANSFORM_KERNELS_WARP_KERNEL_H

#include <stdbool.h>
#include <string.h>

#include "transform/warp.h"

struct warp_row {
	const struct image *image;
	const uint8_t *fill; /* 4 bytes */
	int32_t count;
	const double *x, *y;
	uint8_t *pixels; /* one byte more may be written */
};

typedef void warp_filter(const struct warp_row *row);

warp_filter warp_bilinear, warp_bicubic, warp_bilinear_avx2, warp_bicubic_avx2;
warp_filter warp_bilinear_neon, warp_bicubic_neon;

/* For numbers from -1 on that an int can hold. */
static inline int32_t warp_floor(double number)
{
	return number < 0.0 ? -1 : (int32_t)number;
}

static inline int32_t warp_clip(int32_t at, int32_t count)
{
	return at < 0 ? 0 : at < count ? at : count - 1;
}

/* Outside of the picture its edge is seen. */
static inline const uint8_t *warp_line(const struct image *image, int32_t line)
{
	return image->pixels + (size_t)warp_clip(line, image->height) * image->stride;
}

static inline size_t warp_column(const struct image *image, int32_t column)
{
	return 3 * (size_t)warp_clip(column, image->width);
}

/* `x` and `y` are reduced by a half: a pixel's centre is a whole number. */
typedef void warp_pixel(const struct image *image, double x, double y, uint8_t *pixel);

static inline __attribute__((always_inline)) void warp_filter_row(const struct warp_row *row,
								  warp_pixel *make)
{
	const struct image image = *row->image;
	const double width = image.width, height = image.height;
	uint8_t *pixel = row->pixels;
	for (int32_t i = 0; i < row->count; i++, pixel += 3) {
		double x = row->x[i], y = row->y[i];
		if (x >= 0.0 && x < width && y >= 0.0 && y < height)
			make(&image, x - 0.5, y - 0.5, pixel);
		else
			memcpy(pixel, row->fill, 4);
	}
}

#endif
