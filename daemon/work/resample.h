/* SPDX-License-Identifier: MIT */
/*
 * Pillow's antialiased resize, bit for bit: two passes, columns first, weights in 22-bit fixed
 * point, bytes between the passes (Pillow's Resample.c is the law). This file is the whole door: a
 * table for each axis, and one function that reads them.
 *
 * An axis table is made for the outputs that somebody will look at, so a window of the result costs
 * no more than the window; and the outputs are taken in the order that `columns` and `rows` name,
 * so flips and borders behind a resize cost nothing. Knows no transform, no dtype. A worker's
 * thread; memory is the caller's and grows as needed.
 */
#ifndef STOKER_WORK_RESAMPLE_H
#define STOKER_WORK_RESAMPLE_H

#include <stdint.h>

#include "base/buffer.h"
#include "work/image.h"

/* Pillow's filters; NEAREST moves pixels and has no axis table. */
enum filter {
	FILTER_NEAREST,
	FILTER_BOX,
	FILTER_BILINEAR,
	FILTER_HAMMING,
	FILTER_BICUBIC,
	FILTER_LANCZOS,
};

struct span {
	int32_t first, count;
};

struct axis {
	struct span source;   /* what the outputs below read, together; not empty */
	int32_t count;	      /* outputs */
	int32_t stride;	      /* weights from one output to the next */
	int32_t widest;	      /* the most weights that an output has; at least 1 */
	struct span *spans;   /* an output's pixels of the source */
	int32_t *weights;     /* and what each counts, in 1 / 2^22 */
	struct buffer memory; /* holds the two arrays */
};
#define AXIS_NULL ((struct axis){0})

/*
 * The table for outputs `window` of a resize from `in` to `out` pixels. Sizes are 1 to 2^24.
 * 0, -ENOMEM, or RESAMPLE_E_SIZE when the table would be unreasonably large.
 */
enum {
	RESAMPLE_E_SIZE = 1,
};
int axis_build(struct axis *axis, enum filter filter, int32_t in, int32_t out, struct span window);
void axis_deinit(struct axis *axis);

struct resample {
	struct image image; /* its area covers what both axes read */
	const struct axis *x, *y;
	const int32_t *columns, *rows; /* outputs of x and y, in the order they are wanted */
	int32_t width, height;	       /* how many */
};

/* Called for each row of the result, from the top: 3 * width bytes, which may be overwritten. */
typedef void resample_put(void *context, int32_t y, uint8_t *row);

/* 0 or -ENOMEM. */
int resample_run(const struct resample *resample, struct buffer *scratch, resample_put *put,
		 void *context);

#endif
