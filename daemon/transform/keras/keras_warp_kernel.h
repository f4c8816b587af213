/* SPDX-License-Identifier: MIT */
/*
 * What keras_warp.c and its AVX2 version share: where the pixels of a row come from, and loops that
 * both compile.
 */
#ifndef STOKER_TRANSFORM_KERAS_KERAS_WARP_KERNEL_H
#define STOKER_TRANSFORM_KERAS_KERAS_WARP_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "transform/keras/keras_warp.h"

#define KERAS_OUTSIDE (-1) /* no pixel of the picture: cval */

/* A pixel of the result is interpolated between four: the one at `at` and its neighbours to the
 * right and below, by the fractions of the way to them. */
struct places {
	int32_t *at;	     /* bytes into the picture, or KERAS_OUTSIDE */
	float *right, *down; /* in [0, 1] */
};

struct source {
	const uint8_t *pixels;
	int32_t height, width;
	int32_t stride;
	size_t right, down; /* bytes to the neighbours; 0 if there is none */
};

/* Where one pixel comes from. */
void keras_place(const struct keras_warp *warp, const struct source *source, double row,
		 double column, const struct places *places, int32_t j);

typedef void keras_plan(const struct keras_warp *warp, const struct source *source, int32_t i,
			const struct places *places);
typedef void keras_pick(const struct source *source, const struct places *places, float *out);
/* out = first + part * (second - first), of bytes and of floats. */
typedef void keras_blend_bytes(const uint8_t *first, const uint8_t *second, float part, size_t n,
			       float *out);
typedef void keras_blend(const float *first, const float *second, float part, size_t n, float *out);

struct keras_kernels {
	keras_plan *plan;
	keras_pick *pick;
	keras_blend_bytes *blend_bytes;
	keras_blend *blend;
};

extern const struct keras_kernels keras_kernels_avx2;

#define KERAS_INLINE static inline __attribute__((always_inline))

KERAS_INLINE void blend_bytes_loop(const uint8_t *restrict first, const uint8_t *restrict second,
				   float part, size_t n, float *restrict out)
{
	for (size_t k = 0; k < n; k++) {
		float from = (float)first[k];
		out[k] = from + part * ((float)second[k] - from);
	}
}

KERAS_INLINE void blend_loop(const float *first, const float *second, float part, size_t n,
			     float *restrict out)
{
	for (size_t k = 0; k < n; k++)
		out[k] = first[k] + part * (second[k] - first[k]);
}

#endif
