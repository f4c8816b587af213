/* SPDX-License-Identifier: MIT */
/*
 * Shared parts of the two passes for AVX-512: resample_avx512.c prepares and runs that along x,
 * resample_avx512_rows.c runs that along y. A worker's thread.
 *
 * A weight is split into three signed bytes, so that vpdpbusd, which adds four products of bytes,
 * does four taps at a time and is exact.
 */
#ifndef STOKER_TRANSFORM_KERNELS_RESAMPLE_AVX512_H
#define STOKER_TRANSFORM_KERNELS_RESAMPLE_AVX512_H

#include <immintrin.h>

#include "transform/kernels/resample_kernel.h"

#define AVX512                                                                                     \
	__attribute__((                                                                            \
		target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vnni")))
#define INLINE static inline __attribute__((always_inline))

#define GROUP 4	  /* rows, and taps */
#define VECTOR 16 /* bytes of a row that are made together in the pass along x */
#define BLOCK 64  /* and in that along y */
#define REACH 64  /* bytes of the source that VECTOR bytes are made of, at most */
#define ROUND (RESAMPLE_HALF >> 16)

/* Four taps of VECTOR bytes: their places among REACH bytes, and the three parts of their weights.
 */
struct quad {
	__m512i places, low, middle, high;
};

/* Four taps of the pass along y, for all bytes of a row: a line that has all of them, or rows of
 * the picture. */
struct row_quad {
	const uint8_t *rows[GROUP]; /* the line is the first */
	int32_t low, middle, high;
};

/* The kernel's memory. */
struct table {
	int32_t vectors, quads; /* vectors of a row, quads of taps of each vector */
	struct quad *quad;	/* quads of vector 0, of vector 1, ... */
	int32_t *base;		/* of each quad: where REACH bytes of the source begin */
	int32_t *offsets;	/* of each pixel: where its taps begin */
	int32_t *parts;		/* of each pixel and each quad: low, middle, high, unused */
	struct row_quad *rows;
};

static inline struct table *table_of(const struct lines *lines)
{
	return (struct table *)(void *)lines->table;
}

/* Up to four weights to three words: their low, middle and high bytes, all signed. */
INLINE AVX512 __m128i weights_part(const int32_t *weights, int32_t count)
{
	const __m128i carry = _mm_set1_epi32(0x808080);
	const __m128i deal = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
	__mmask8 there = count < GROUP ? (__mmask8)((1 << count) - 1) : 0xf;
	__m128i four = _mm_maskz_loadu_epi32(there, weights);
	return _mm_shuffle_epi8(_mm_xor_si128(_mm_add_epi32(four, carry), carry), deal);
}

/* low + (middle << 8) + (high << 16), rounded. */
struct parts {
	__m512i low, middle, high;
};

INLINE AVX512 __m512i parts_join(const struct parts *parts)
{
	__m512i sum = _mm512_add_epi32(_mm512_slli_epi32(parts->high, 8), parts->middle);
	return _mm512_add_epi32(_mm512_slli_epi32(sum, 8), parts->low);
}

INLINE AVX512 void parts_add(struct parts *parts, __m512i taps, __m512i low, __m512i middle,
			     __m512i high)
{
	parts->low = _mm512_dpbusd_epi32(parts->low, taps, low);
	parts->middle = _mm512_dpbusd_epi32(parts->middle, taps, middle);
	parts->high = _mm512_dpbusd_epi32(parts->high, taps, high);
}

/* Sum the parts for four taps only. */
INLINE AVX512 __m512i parts_sum(__m512i taps, __m512i low, __m512i middle, __m512i high)
{
	__m512i sum = _mm512_dpbusd_epi32(_mm512_set1_epi32(ROUND), taps, high);
	sum = _mm512_dpbusd_epi32(_mm512_slli_epi32(sum, 8), taps, middle);
	return _mm512_dpbusd_epi32(_mm512_slli_epi32(sum, 8), taps, low);
}

/* Sums to bytes: each quarter has four of the first, the second, the third, the fourth. */
INLINE AVX512 __m512i sums_end(const __m512i sums[4])
{
	__m512i front = _mm512_packs_epi32(_mm512_srai_epi32(sums[0], AXIS_PRECISION),
					   _mm512_srai_epi32(sums[1], AXIS_PRECISION));
	__m512i back = _mm512_packs_epi32(_mm512_srai_epi32(sums[2], AXIS_PRECISION),
					  _mm512_srai_epi32(sums[3], AXIS_PRECISION));
	return _mm512_packus_epi16(front, back);
}

/* End the sums with the first quarter of all quarters first, then the second, ... */
INLINE AVX512 __m512i sums_end_turned(const __m512i sums[4])
{
	const __m512i order =
		_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
	return _mm512_permutexvar_epi32(order, sums_end(sums));
}

/* The pass along y. */
void resample_avx512_rows(const struct lines *lines, struct span span, const int32_t *weights,
			  uint8_t *out);

#endif
