/* SPDX-License-Identifier: MIT */
/*
 * One axis of a resize: for each output, which pixels of the source count how much. Pillow's
 * filters and Pillow's arithmetic: weights are worked out in double and kept in fixed point. A
 * table is made for the outputs that somebody will look at. Owns its memory, which is reused; a
 * worker's thread.
 */
#ifndef STOKER_TRANSFORM_AXIS_H
#define STOKER_TRANSFORM_AXIS_H

#include <stdint.h>

#include "base/buffer.h"

#define AXIS_PRECISION 22 /* bits of a weight behind the point */

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
	int32_t widest;	      /* how many weights each output has, zeros included */
	struct span *spans;   /* an output's pixels of the source, all inside `source` */
	int32_t *weights;     /* and what each counts, in 2^-AXIS_PRECISION */
	struct buffer memory; /* holds the two arrays */
};
#define AXIS_NULL ((struct axis){0})

/*
 * The table for outputs `window` of a resize from `in` to `out` pixels. Sizes are 1 to 2^24.
 * 0, -ENOMEM, or AXIS_E_SIZE when the table would be unreasonably large.
 */
enum {
	AXIS_E_SIZE = 1,
};
int axis_build(struct axis *axis, enum filter filter, int32_t in, int32_t out, struct span window);
void axis_deinit(struct axis *axis);

#endif
