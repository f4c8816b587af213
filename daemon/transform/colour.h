/* SPDX-License-Identifier: MIT */
/*
 * A change of a picture's colours; pixels stay where they are. What is changed how is a function in
 * the file of the transform that does it (transforms/random_solarize.c); this is how such functions
 * are run, and what they share. Bytes are those of Pillow's ImageOps and ImageEnhance. Knows no
 * transform and no dtype. A worker's thread; memory is the caller's.
 */
#ifndef STOKER_TRANSFORM_COLOUR_H
#define STOKER_TRANSFORM_COLOUR_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/cpu.h"
#include "base/image.h"
#include "transform/colour_rows.h"

#define COLOUR_CHANNELS 3
#define COLOUR_WHOLE INT32_MAX /* as a reach: every pixel depends on the whole picture */

struct paint;

/*
 * Write paint->wanted of the changed picture to paint->out. paint->image has the pixels of `wanted`
 * and colour->reach pixels around it, as far as the picture has them. 0 or -ENOMEM.
 */
typedef int colour_function(const struct paint *paint);

struct colour {
	colour_function *function;
	int32_t reach; /* pixels around one that its new value depends on: 0, some, COLOUR_WHOLE */
	double amount[3];
};

/* One run of a colour_function. */
struct paint {
	const struct colour *colour;
	const struct image *image;
	const struct colour_rows *rows; /* for this processor */
	struct rect wanted;
	size_t bytes; /* of a row of `wanted` */
	uint8_t *out; /* overlaps `image` only where each pixel is written over itself */
	size_t stride;
	struct buffer *scratch; /* has two rows of the picture, and two pixels */
	struct cancel *cancel;	/* NULL: nobody stops it */
};

/* The new values of each channel's 256 values. */
struct colour_tables {
	uint8_t of[COLOUR_CHANNELS][256];
};

/*
 * Write the part `wanted` of the changed picture to `out`, rows `stride` bytes apart. `image` has
 * in its area `wanted` and colour->reach pixels around it, as far as the picture has them. Where
 * the reach is 0 or COLOUR_WHOLE, `out` may be where `wanted` stands in `image`. The bytes do not
 * depend on `cpu`. 0 or -ENOMEM; the result is not whole once `cancel` has stopped.
 */
int colour_run(const struct colour *colour, const struct image *image, struct rect wanted,
	       uint8_t *out, size_t stride, enum cpu cpu, struct buffer *scratch,
	       struct cancel *cancel);

/* --- for colour functions --- */

/* The picture's pixel (x, y). */
static inline const uint8_t *paint_pixel(const struct paint *paint, int32_t x, int32_t y)
{
	const struct image *image = paint->image;
	return image->pixels + (size_t)(y - image->area.y) * image->stride +
	       COLOUR_CHANNELS * (size_t)(x - image->area.x);
}

/* Row `y` of `wanted`, and of the result. */
static inline const uint8_t *paint_row(const struct paint *paint, int32_t y)
{
	return paint_pixel(paint, paint->wanted.x, paint->wanted.y + y);
}

static inline uint8_t *paint_out(const struct paint *paint, int32_t y)
{
	return paint->out + (size_t)y * paint->stride;
}

/* Each byte through its channel's table. */
int paint_tables(const struct paint *paint, const struct colour_tables *tables);
/* Each byte by itself: `value_of` makes the new value, of the first amount. */
int paint_values(const struct paint *paint, uint8_t (*value_of)(int value, double amount));
/* Each channel by a table that is made of how often each value stands in the picture. For a reach
 * of COLOUR_WHOLE. */
int paint_histograms(const struct paint *paint,
		     void (*table_of)(uint8_t *table, const uint64_t *count));
/* A blend of gray, at 0, and the picture, at `amount` 1. */
int paint_gray(const struct paint *paint, double amount);

#endif
