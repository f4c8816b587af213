// SPDX-License-Identifier: MIT
/* For NEON: two places at a time, and the channels of a pixel at once. Without fused multiply-add,
 * as the plain loops. */
#include <string.h>

#include "transform/keras/keras_warp_kernel.h"
#include "transform/kernels/neon.h"

struct axis_places {
	float64x2_t before, part;
};

/* A place that is no number is the last one. */
INLINE struct axis_places axis_places(float64x2_t at, int32_t n)
{
	struct axis_places places;
	at = vmaxq_f64(vdupq_n_f64(0.0), vminnmq_f64(at, vdupq_n_f64(n - 1.0)));
	places.before = vminq_f64(vrndq_f64(at), vdupq_n_f64(n > 1 ? n - 2.0 : 0.0));
	places.part = vsubq_f64(at, places.before);
	return places;
}

INLINE float64x2_t line_at(double row, double by, double shift, float64x2_t column)
{
	float64x2_t moved = vaddq_f64(vdupq_n_f64(row), vmulq_n_f64(column, by));
	return vaddq_f64(moved, vdupq_n_f64(shift));
}

/* Test which of two are outside of the picture: all bits of a lane. */
INLINE uint64x2_t beside(float64x2_t at, int32_t n)
{
	return vorrq_u64(vcltzq_f64(at), vcgtq_f64(at, vdupq_n_f64(n - 1.0)));
}

static void place_beside(const struct keras_warp *warp, const struct source *source,
			 float64x2_t rows, float64x2_t columns, uint64x2_t which,
			 const struct places *places, int32_t j)
{
	if (vgetq_lane_u64(which, 0))
		keras_place(warp, source, vgetq_lane_f64(rows, 0), vgetq_lane_f64(columns, 0),
			    places, j);
	if (vgetq_lane_u64(which, 1))
		keras_place(warp, source, vgetq_lane_f64(rows, 1), vgetq_lane_f64(columns, 1),
			    places, j + 1);
}

/* Writes one place behind the last column, if their number is odd. Numbers into the picture are
 * small enough for doubles to be exact. */
static void plan(const struct keras_warp *warp, const struct source *source, int32_t i,
		 const struct places *places)
{
	double row = warp->m[0][0] * i, column = warp->m[1][0] * i;
	bool flip = warp->flip[0];
	double by = flip ? -1.0 : 1.0, first = flip ? source->width - 1.0 : 0.0;
	float64x2_t from = vcombine_f64(vdup_n_f64(first), vdup_n_f64(first + by));
	for (int32_t j = 0; j < source->width; j += 2) {
		float64x2_t rows = line_at(row, warp->m[0][1], warp->m[0][2], from);
		float64x2_t columns = line_at(column, warp->m[1][1], warp->m[1][2], from);
		struct axis_places y = axis_places(rows, source->height);
		struct axis_places x = axis_places(columns, source->width);
		float64x2_t at = vaddq_f64(vmulq_n_f64(y.before, source->stride),
					   vmulq_n_f64(x.before, source->channels));
		vst1_s32(places->at + j, vmovn_s64(vcvtq_s64_f64(at)));
		vst1_f32(places->right + j, vcvt_f32_f64(x.part));
		vst1_f32(places->down + j, vcvt_f32_f64(y.part));
		uint64x2_t which =
			vorrq_u64(beside(rows, source->height), beside(columns, source->width));
		if (warp->fill != KERAS_FILL_NEAREST && vmaxvq_u32(vreinterpretq_u32_u64(which)))
			place_beside(warp, source, rows, columns, which, places, j);
		from = vaddq_f64(from, vdupq_n_f64(2 * by));
	}
}

/* A pixel and its right neighbour. If there is none, its fraction is 0 and its value does not
 * matter. */
struct two_pixels {
	float32x4_t left, right;
};

INLINE struct two_pixels pixels_load(const uint8_t *pixels)
{
	static const uint8_t places[16] = {3, 64, 64, 64, 4,  64, 64, 64,
					   5, 64, 64, 64, 64, 64, 64, 64};
	uint8x16_t bytes = vcombine_u8(vld1_u8(pixels), vdup_n_u8(0));
	uint8x16_t right = vqtbl1q_u8(bytes, vld1q_u8(places));
	return (struct two_pixels){vcvtq_f32_u32(bytes_widen(bytes, 0)),
				   vcvtq_f32_u32(vreinterpretq_u32_u8(right))};
}

INLINE float32x4_t between(float32x4_t first, float32x4_t second, float part)
{
	return vaddq_f32(first, vmulq_n_f32(vsubq_f32(second, first), part));
}

INLINE float32x4_t pick_one(const struct source *source, const struct places *places, int32_t j)
{
	int32_t at = places->at[j] < 0 ? 0 : places->at[j];
	struct two_pixels above = pixels_load(source->pixels + at);
	struct two_pixels below = pixels_load(source->pixels + at + source->down);
	return between(between(above.left, below.left, places->down[j]),
		       between(above.right, below.right, places->down[j]), places->right[j]);
}

static void pick(const struct source *source, const struct places *places, float *out)
{
	int32_t j = 0;
	for (; j + 1 < source->width; j++, out += 3)
		vst1q_f32(out, pick_one(source, places, j));
	float last[4];
	vst1q_f32(last, pick_one(source, places, j));
	memcpy(out, last, 3 * sizeof(*out));
}

/* The other loops are those of plain C, which compilers vectorise: NEON is in all that they make
 * for these processors. */
static void pick_numbers(const struct source *source, const struct places *places, float *out)
{
	pick_numbers_all(source, places, out);
}

static void blend_bytes(const uint8_t *first, const uint8_t *second, float part, size_t n,
			float *out)
{
	blend_bytes_loop(first, second, part, n, out);
}

static void blend(const float *first, const float *second, float part, size_t n, float *out)
{
	blend_loop(first, second, part, n, out);
}

static void blend_numbers(const float *first, const float *second, float part, size_t n, float *out)
{
	blend_numbers_loop(first, second, part, n, out);
}

const struct keras_kernels keras_kernels_neon = {plan,	      pick,  pick_numbers,
						 blend_bytes, blend, blend_numbers};
