/* SPDX-License-Identifier: MIT */
/*
 * Pillow's antialiased resize, bit for bit: two passes, bytes between them, with the weights of two
 * axis tables (Pillow's Resample.c is the reference). The plan says which pass is first. Outputs
 * are made in the order that `columns` and `rows` name: a crop of the result costs no more than the
 * crop, and flips and borders behind a resize cost nothing. Knows no transform, no dtype. A
 * worker's thread; memory is the caller's and grows as needed.
 */
#ifndef STOKER_TRANSFORM_RESAMPLE_H
#define STOKER_TRANSFORM_RESAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cpu.h"
#include "base/image.h"
#include "transform/axis.h"

struct resample {
	struct image image; /* its area covers what both axes read */
	const struct axis *x, *y;
	const int32_t *columns, *rows; /* outputs of x and y, in the wanted order */
	int32_t width, height;	       /* how many */
	bool rows_first;	       /* the pass along y comes before that along x */
};

/* Called for each row of the result, from the top: 3 * width bytes, which may be overwritten, with
 * BUFFER_SLACK readable bytes behind them. False: no more rows are wanted. */
typedef bool resample_put(void *context, int32_t y, uint8_t *row);

/* The bytes do not depend on `cpu`. 0 or -ENOMEM. */
int resample_run(const struct resample *resample, enum cpu cpu, struct buffer *scratch,
		 resample_put *put, void *context);

#endif
