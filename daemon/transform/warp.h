/* SPDX-License-Identifier: MIT */
/*
 * Pillow's Image.transform, bit for bit: an affine or perspective transformation of a picture. Each
 * pixel of the result is looked up at a place of the source that 6 or 8 numbers give: the nearest
 * pixel, or an interpolation of 2 x 2 or 4 x 4 pixels. Pillow's Geometry.c is the reference, with
 * its fixed-point arithmetic for the nearest pixel. Where the place is outside of the picture, the
 * fill colour stands. Columns and rows are made in the order in which they are named, so flips and
 * crops behind a warp cost nothing. Knows no transform. A worker's thread; memory is the caller's
 * and grows as needed.
 */
#ifndef STOKER_TRANSFORM_WARP_H
#define STOKER_TRANSFORM_WARP_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/cpu.h"
#include "base/image.h"
#include "transform/axis.h"
#include "transform/resample.h"

enum warp_kind {
	WARP_AFFINE,	  /* (x, y) comes from (a[0] x + a[1] y + a[2], a[3] x + a[4] y + a[5]) */
	WARP_PERSPECTIVE, /* both divided by a[6] x + a[7] y + 1 */
};

struct warp {
	enum warp_kind kind;
	enum filter filter; /* NEAREST, BILINEAR or BICUBIC */
	int32_t size[2];    /* width and height of the whole result */
	double a[8];
	uint8_t fill[3];
};

/* Filter and fill of a warp: all but the places that its pixels come from. */
struct warp_look {
	enum filter filter;
	uint8_t fill[3];
};

/*
 * Make the pixels (columns[i], rows[j]) of the result of `image`, whose area is the whole picture,
 * and call `put` for each row. The bytes do not depend on `cpu`. 0 or -ENOMEM.
 */
int warp_run(const struct warp *warp, const struct image *image, const int32_t *columns,
	     int32_t width, const int32_t *rows, int32_t height, enum cpu cpu,
	     struct buffer *scratch, resample_put *put, void *context);

#endif
