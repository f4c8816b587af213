/* SPDX-License-Identifier: MIT */
/*
 * Keras' affine transformation of one picture, bytes in, float32 out: what
 * scipy.ndimage.affine_transform(order=1) gives for each channel, in its four modes. Where a pixel
 * comes from is worked out in float64, as scipy does it, so that both agree on what lies beside the
 * picture; between pixels values are blended in float32, down the column first. Knows no range and
 * no draw. A worker's thread; memory is the caller's and grows as needed.
 */
#ifndef STOKER_TRANSFORM_KERAS_KERAS_WARP_H
#define STOKER_TRANSFORM_KERAS_KERAS_WARP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cpu.h"
#include "base/image.h"

/* What is seen beside a picture, by scipy's names. */
enum keras_fill {
	KERAS_FILL_CONSTANT,
	KERAS_FILL_NEAREST,
	KERAS_FILL_REFLECT, /* 2 1 0 0 1 2 */
	KERAS_FILL_WRAP,    /* the last pixel is the first one's place: a period of n - 1 */
};

struct keras_warp {
	/* Pixel (i, j) of the result is the picture's (m[0][0] i + m[0][1] j + m[0][2],
	 * m[1][0] i + m[1][1] j + m[1][2]), row and column. */
	double m[2][3];
	bool flip[2]; /* then the result is turned round: left and right, up and down */
	enum keras_fill fill;
	float cval;
};

/*
 * Warp `image`, all of it (as many bytes as an int32_t counts), to `out`: height x width x 3
 * numbers. With what `cpu` can do, which changes no bit. 0 or -ENOMEM.
 */
int keras_warp_run(const struct keras_warp *warp, const struct image *image, enum cpu cpu,
		   struct buffer *scratch, float *out);

#endif
