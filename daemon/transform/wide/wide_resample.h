/* SPDX-License-Identifier: MIT */
/*
 * One pass of a wide picture's resize, along x or y, with the weights of a precise axis: products
 * and sums in double, tap after tap, as Pillow's Resample.c has them for I;16 and F. Pure; any
 * thread.
 */
#ifndef STOKER_TRANSFORM_WIDE_WIDE_RESAMPLE_H
#define STOKER_TRANSFORM_WIDE_WIDE_RESAMPLE_H

#include <stdbool.h>

#include "base/cancel.h"
#include "base/image.h"
#include "transform/axis.h"

struct wide_resample {
	struct image_form form;
	struct image image; /* its area covers what is read */
	const struct axis *axis;
	bool along_y;
	struct span across; /* the rows, or columns, that are made, in the image's coordinates */
};

/* Size of the result: the axis' outputs, and what is across. */
struct image_size wide_resample_size(const struct wide_resample *pass);
/* Write it to `out`, packed; `image_out` shows it, from (0, 0) on. False: `cancel` stopped it. */
bool wide_resample_run(const struct wide_resample *pass, uint8_t *out, struct image *image_out,
		       struct cancel *cancel);

#endif
