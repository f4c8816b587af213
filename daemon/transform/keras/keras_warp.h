/* SPDX-License-Identifier: MIT */
/*
 * Keras' affine transformation of one picture, bytes or float32 in, float32 out: what
 * scipy.ndimage.affine_transform(order=1) gives for each channel, in its four modes. Where a pixel
 * comes from is computed in float64, as in scipy, so that both agree on what is outside of the
 * picture; values are interpolated in float32, along the column first. Knows no ranges and no
 * draws. A worker's thread; memory is the caller's and grows as needed.
 */
#ifndef STOKER_TRANSFORM_KERAS_KERAS_WARP_H
#define STOKER_TRANSFORM_KERAS_KERAS_WARP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cpu.h"
#include "base/image.h"

/* The pixels outside of a picture, by scipy's names. */
enum keras_fill {
	KERAS_FILL_CONSTANT,
	KERAS_FILL_NEAREST,
	KERAS_FILL_REFLECT, /* 2 1 0 0 1 2 */
	KERAS_FILL_WRAP,    /* with a period of n - 1: the last pixel is at the first one's place */
};

struct keras_warp {
	/* Pixel (i, j) of the result is the picture's (m[0][0] i + m[0][1] j + m[0][2],
	 * m[1][0] i + m[1][1] j + m[1][2]), row and column. */
	double m[2][3];
	bool flip[2]; /* then the result is flipped: horizontally, vertically */
	enum keras_fill fill;
	float cval;
};

/*
 * Warp the whole `image`, of less than 2^31 numbers, to `out`: height x width x 3 numbers, or as
 * many as it has channels. They do not depend on `cpu`. 0 or -ENOMEM.
 */
int keras_warp_run(const struct keras_warp *warp, const struct image *image, enum cpu cpu,
		   struct buffer *scratch, float *out);

#endif
