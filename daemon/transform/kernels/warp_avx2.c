// SPDX-License-Identifier: MIT
/* For AVX2: a pixel's channels side by side. A fourth byte is written and then overwritten by the
 * next pixel. */
#include <immintrin.h>

#include "transform/kernels/warp_kernel.h"

#define AVX2 __attribute__((target("avx2")))
#define INLINE static inline __attribute__((always_inline))

INLINE AVX2 __m128i pixel_load(const uint8_t *pixel)
{
	int32_t bytes;
	memcpy(&bytes, pixel, sizeof(bytes));
	return _mm_cvtepu8_epi32(_mm_cvtsi32_si128(bytes));
}

/* Truncated, not rounded, and clamped to a byte. */
INLINE AVX2 void pixel_store(uint8_t *pixel, __m256d value)
{
	__m128i words = _mm256_cvttpd_epi32(value);
	words = _mm_packs_epi32(words, words);
	int32_t bytes = _mm_cvtsi128_si32(_mm_packus_epi16(words, words));
	memcpy(pixel, &bytes, sizeof(bytes));
}

INLINE AVX2 __m256d mix(__m256d from, __m256d by, __m256d part)
{
	return _mm256_add_pd(from, _mm256_mul_pd(by, part));
}

INLINE AVX2 __m256d mix_pixels(const uint8_t *from, const uint8_t *to, __m256d part)
{
	__m128i first = pixel_load(from), by = _mm_sub_epi32(pixel_load(to), first);
	return mix(_mm256_cvtepi32_pd(first), _mm256_cvtepi32_pd(by), part);
}

INLINE AVX2 void bilinear_pixel(const struct image *image, double x, double y, uint8_t *pixel)
{
	int32_t column = warp_floor(x), line = warp_floor(y);
	size_t left = warp_column(image, column), right = warp_column(image, column + 1);
	const uint8_t *above = warp_line(image, line), *below = warp_line(image, line + 1);
	__m256d across = _mm256_set1_pd(x - column), down = _mm256_set1_pd(y - line);
	__m256d top = mix_pixels(above + left, above + right, across);
	__m256d bottom = mix_pixels(below + left, below + right, across);
	pixel_store(pixel, mix(top, _mm256_sub_pd(bottom, top), down));
}

AVX2 void warp_bilinear_avx2(const struct warp_row *row)
{
	warp_filter_row(row, bilinear_pixel);
}

/* value + part * (slope + part * (bend + part * twist)) */
INLINE AVX2 __m256d curve(__m256d value, __m256d slope, __m256d bend, __m256d twist, __m256d part)
{
	return mix(value, mix(slope, mix(bend, twist, part), part), part);
}

/* As curve_bytes() in warp_filter.c. */
INLINE AVX2 __m256d curve_pixels(const uint8_t *line, const size_t at[4], __m256d part)
{
	__m128i a = pixel_load(line + at[0]), b = pixel_load(line + at[1]);
	__m128i c = pixel_load(line + at[2]), d = pixel_load(line + at[3]);
	__m128i down = _mm_sub_epi32(a, b), up = _mm_sub_epi32(c, d);
	__m128i bend = _mm_add_epi32(_mm_add_epi32(down, down), up);
	__m128i twist = _mm_sub_epi32(_mm_sub_epi32(d, c), down);
	return curve(_mm256_cvtepi32_pd(b), _mm256_cvtepi32_pd(_mm_sub_epi32(c, a)),
		     _mm256_cvtepi32_pd(bend), _mm256_cvtepi32_pd(twist), part);
}

/* As curve() in warp_filter.c, in its order. */
INLINE AVX2 __m256d curve_lines(const __m256d v[4], __m256d part)
{
	__m256d slope = _mm256_sub_pd(v[2], v[0]);
	__m256d down = _mm256_sub_pd(v[0], v[1]);
	__m256d bend = _mm256_sub_pd(_mm256_add_pd(_mm256_add_pd(down, down), v[2]), v[3]);
	__m256d twist = _mm256_add_pd(_mm256_sub_pd(_mm256_sub_pd(v[1], v[0]), v[2]), v[3]);
	return curve(v[1], slope, bend, twist, part);
}

INLINE AVX2 void bicubic_pixel(const struct image *image, double x, double y, uint8_t *pixel)
{
	int32_t column = warp_floor(x), line = warp_floor(y);
	__m256d across = _mm256_set1_pd(x - column), values[4];
	size_t columns[4];
	for (int i = 0; i < 4; i++)
		columns[i] = warp_column(image, column - 1 + i);
	for (int i = 0; i < 4; i++)
		values[i] = curve_pixels(warp_line(image, line - 1 + i), columns, across);
	pixel_store(pixel, curve_lines(values, _mm256_set1_pd(y - line)));
}

AVX2 void warp_bicubic_avx2(const struct warp_row *row)
{
	warp_filter_row(row, bicubic_pixel);
}
