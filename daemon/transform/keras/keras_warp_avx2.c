// SPDX-License-Identifier: MIT
/* For AVX2: four places at a time, and two neighbouring pixels of a row at once. Without fused
 * multiply-add, as the plain loops. */
#include <immintrin.h>
#include <string.h>

#include "transform/keras/keras_warp_kernel.h"

#define AVX2 __attribute__((target("avx2")))

struct axis_places {
	__m128i before;
	__m256d part;
};

KERAS_INLINE AVX2 struct axis_places axis_places(__m256d at, int32_t n)
{
	struct axis_places places;
	at = _mm256_max_pd(_mm256_setzero_pd(), _mm256_min_pd(at, _mm256_set1_pd(n - 1.0)));
	places.before = _mm_min_epi32(_mm256_cvttpd_epi32(at), _mm_set1_epi32(n > 1 ? n - 2 : 0));
	places.part = _mm256_sub_pd(at, _mm256_cvtepi32_pd(places.before));
	return places;
}

KERAS_INLINE AVX2 __m256d line_at(double row, double by, double shift, __m256d column)
{
	__m256d moved =
		_mm256_add_pd(_mm256_set1_pd(row), _mm256_mul_pd(_mm256_set1_pd(by), column));
	return _mm256_add_pd(moved, _mm256_set1_pd(shift));
}

/* Test which of four are outside of the picture, as bits. */
KERAS_INLINE AVX2 int beside(__m256d at, int32_t n)
{
	__m256d low = _mm256_cmp_pd(at, _mm256_setzero_pd(), _CMP_LT_OQ);
	__m256d high = _mm256_cmp_pd(at, _mm256_set1_pd(n - 1.0), _CMP_GT_OQ);
	return _mm256_movemask_pd(_mm256_or_pd(low, high));
}

AVX2 static void place_beside(const struct keras_warp *warp, const struct source *source,
			      __m256d rows, __m256d columns, int which, const struct places *places,
			      int32_t j)
{
	double row[4], column[4];
	_mm256_storeu_pd(row, rows);
	_mm256_storeu_pd(column, columns);
	for (int lane = 0; lane < 4; lane++) {
		if (which >> lane & 1)
			keras_place(warp, source, row[lane], column[lane], places, j + lane);
	}
}

/* Writes up to three places behind the last column. */
AVX2 static void plan(const struct keras_warp *warp, const struct source *source, int32_t i,
		      const struct places *places)
{
	double row = warp->m[0][0] * i, column = warp->m[1][0] * i;
	bool flip = warp->flip[0];
	double by = flip ? -1.0 : 1.0;
	__m256d from = _mm256_add_pd(_mm256_set1_pd(flip ? source->width - 1.0 : 0.0),
				     _mm256_set_pd(3 * by, 2 * by, by, 0));
	for (int32_t j = 0; j < source->width; j += 4) {
		__m256d rows = line_at(row, warp->m[0][1], warp->m[0][2], from);
		__m256d columns = line_at(column, warp->m[1][1], warp->m[1][2], from);
		struct axis_places y = axis_places(rows, source->height);
		struct axis_places x = axis_places(columns, source->width);
		__m128i at = _mm_mullo_epi32(y.before, _mm_set1_epi32(source->stride));
		at = _mm_add_epi32(at, _mm_mullo_epi32(x.before, _mm_set1_epi32(source->channels)));
		_mm_storeu_si128((__m128i *)(void *)(places->at + j), at);
		_mm_storeu_ps(places->right + j, _mm256_cvtpd_ps(x.part));
		_mm_storeu_ps(places->down + j, _mm256_cvtpd_ps(y.part));
		int which = beside(rows, source->height) | beside(columns, source->width);
		if (which && warp->fill != KERAS_FILL_NEAREST)
			place_beside(warp, source, rows, columns, which, places, j);
		from = _mm256_add_pd(from, _mm256_set1_pd(4 * by));
	}
}

/* A pixel and its right neighbour, one in each half. If there is no neighbour, its fraction is 0
 * and its value does not matter. */
KERAS_INLINE AVX2 __m256 two_pixels(const uint8_t *pixels)
{
	const __m128i spread =
		_mm_set_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, 5, 4, 3, -1, 2, 1, 0);
	__m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)pixels);
	return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_shuffle_epi8(bytes, spread)));
}

KERAS_INLINE AVX2 __m128 pick_one(const struct source *source, const struct places *places,
				  int32_t j)
{
	int32_t at = places->at[j] < 0 ? 0 : places->at[j];
	const uint8_t *pixels = source->pixels + at;
	__m256 above = two_pixels(pixels), below = two_pixels(pixels + source->down);
	__m256 down = _mm256_broadcast_ss(&places->down[j]);
	above = _mm256_add_ps(above, _mm256_mul_ps(down, _mm256_sub_ps(below, above)));
	__m128 left = _mm256_castps256_ps128(above), right = _mm256_extractf128_ps(above, 1);
	__m128 part = _mm_broadcast_ss(&places->right[j]);
	return _mm_add_ps(left, _mm_mul_ps(part, _mm_sub_ps(right, left)));
}

AVX2 static void pick(const struct source *source, const struct places *places, float *out)
{
	int32_t j = 0;
	for (; j + 1 < source->width; j++, out += 3)
		_mm_storeu_ps(out, pick_one(source, places, j));
	float last[4];
	_mm_storeu_ps(last, pick_one(source, places, j));
	memcpy(out, last, 3 * sizeof(*out));
}

AVX2 static void pick_numbers(const struct source *source, const struct places *places, float *out)
{
	pick_numbers_all(source, places, out);
}

AVX2 static void blend_bytes(const uint8_t *first, const uint8_t *second, float part, size_t n,
			     float *out)
{
	blend_bytes_loop(first, second, part, n, out);
}

AVX2 static void blend(const float *first, const float *second, float part, size_t n, float *out)
{
	blend_loop(first, second, part, n, out);
}

AVX2 static void blend_numbers(const float *first, const float *second, float part, size_t n,
			       float *out)
{
	blend_numbers_loop(first, second, part, n, out);
}

const struct keras_kernels keras_kernels_avx2 = {plan,	      pick,  pick_numbers,
						 blend_bytes, blend, blend_numbers};
