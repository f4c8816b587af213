/* SPDX-License-Identifier: MIT */
/*
 * One axis of a resize: for each output, the pixels of the source it is made of and their weights.
 * Pillow's filters and Pillow's arithmetic: weights are computed in double and kept in fixed point,
 * or as they are, for wide pictures.
 * A table is made for the wanted outputs only. Owns its memory, which is reused; a worker's thread.
 */
#ifndef STOKER_TRANSFORM_AXIS_H
#define STOKER_TRANSFORM_AXIS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

#define AXIS_PRECISION 22 /* fraction bits of a weight */

/* Pillow's filters. NEAREST only moves pixels and has no axis table. */
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
	struct span source;   /* all pixels that the outputs read; not empty */
	int32_t count;	      /* outputs */
	int32_t stride;	      /* weights from one output to the next */
	int32_t widest;	      /* weights of each output, zeros included */
	struct span *spans;   /* of each output: its pixels, all inside of `source` */
	int32_t *weights;     /* of each output: theirs, in 2^-AXIS_PRECISION */
	bool precise;	      /* set before the build: `exact` is made in place of `weights` ... */
	double *exact;	      /* ... with the taps that Pillow has, those of weight 0 too */
	bool same;	      /* the outputs are the pixels: Pillow makes no pass */
	struct buffer memory; /* holds the two arrays */
};
#define AXIS_NULL ((struct axis){0})

/*
 * Make the table for outputs `window` of a resize of `box`, a part of `in` pixels, to `out` pixels,
 * each 1 to 2^24. As with Pillow's box, outputs at its ends are also made of pixels beside it.
 * 0, -ENOMEM, or AXIS_E_SIZE if the table would be too large.
 */
enum {
	AXIS_E_SIZE = 1,
};
int axis_build(struct axis *axis, enum filter filter, int32_t in, struct span box, int32_t out,
	       struct span window);
void axis_deinit(struct axis *axis);

#endif
