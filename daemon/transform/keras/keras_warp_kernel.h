/* SPDX-License-Identifier: MIT */
/*
 * Parts of keras_warp.c and of its versions for AVX2 and NEON that all of them compile: the places
 * that the pixels of a row come from, and loops.
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
	int32_t *at;	     /* numbers into the picture, or KERAS_OUTSIDE */
	float *right, *down; /* in [0, 1] */
};

/* The numbers of the picture are bytes or, if `numbers` is not NULL, those. */
struct source {
	const uint8_t *pixels;
	const float *numbers;
	int32_t height, width;
	int32_t channels;   /* of bytes 3 */
	int32_t stride;	    /* numbers from a row to the next */
	size_t right, down; /* numbers to the neighbours; 0 if there is none */
};

/* Map a place on an axis of n pixels into the picture; false: it stays outside. */
bool keras_bring_in(enum keras_fill fill, double *at, int32_t n);
/* The pixel at or before a place. For the last pixel, the one before it. */
int32_t keras_pixel_before(double at, int32_t n);
/* Find the place that one pixel comes from. */
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
	keras_pick *pick, *pick_numbers; /* of bytes, of floats */
	keras_blend_bytes *blend_bytes;
	keras_blend *blend, *blend_numbers;
};

extern const struct keras_kernels keras_kernels_avx2, keras_kernels_neon;

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

/* Blend two numbers by the sum that scipy makes, which is exact where nothing is between two
 * pixels. */
KERAS_INLINE float blend_number(float first, float second, float part)
{
	return first * (1.0f - part) + second * part;
}

KERAS_INLINE void blend_numbers_loop(const float *first, const float *second, float part, size_t n,
				     float *restrict out)
{
	for (size_t k = 0; k < n; k++)
		out[k] = blend_number(first[k], second[k], part);
}

KERAS_INLINE void pick_numbers_loop(const struct source *source, const struct places *places,
				    size_t channels, float *restrict out)
{
	for (int32_t j = 0; j < source->width; j++, out += channels) {
		if (places->at[j] == KERAS_OUTSIDE)
			continue;
		const float *above = source->numbers + places->at[j];
		const float *below = above + source->down;
		float down = places->down[j], right = places->right[j];
		for (size_t k = 0; k < channels; k++)
			out[k] = blend_number(blend_number(above[k], below[k], down),
					      blend_number(above[source->right + k],
							   below[source->right + k], down),
					      right);
	}
}

/* With the channels as a constant, so that the loops over them are unrolled. */
KERAS_INLINE void pick_numbers_all(const struct source *source, const struct places *places,
				   float *out)
{
	switch (source->channels) {
	case 1:
		pick_numbers_loop(source, places, 1, out);
		break;
	case 3:
		pick_numbers_loop(source, places, 3, out);
		break;
	default:
		pick_numbers_loop(source, places, 4, out);
		break;
	}
}

#endif
