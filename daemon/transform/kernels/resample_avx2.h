/* SPDX-License-Identifier: MIT */
/*
 * Shared parts of the two passes for AVX2: resample_avx2.c prepares and runs that along x,
 * resample_avx2_rows.c runs that along y. A worker's thread.
 */
#ifndef STOKER_TRANSFORM_KERNELS_RESAMPLE_AVX2_H
#define STOKER_TRANSFORM_KERNELS_RESAMPLE_AVX2_H

#include <immintrin.h>

#include "transform/kernels/resample_kernel.h"

#define AVX2 __attribute__((target("avx2")))
#define INLINE static inline __attribute__((always_inline))

#define GROUP 2	  /* rows */
#define PART 11	  /* bits of a weight's lower part */
#define SINGLE 7  /* the same, for a tap without a second one */
#define RESULT 32 /* bytes of a row that are made together */

/* Two taps of the pass along y: their rows, and both weights in the halves of a word. */
struct row_pair {
	const uint8_t *first, *second;
	int32_t low, high;
};

/*
 * The pass along x has four methods, by how far apart the sources of neighbouring pixels are.
 * Unless they are far, each half of a register makes LANE consecutive bytes, which belong to two
 * pixels: vector i of RESULT bytes makes bytes 4i to 4i + 3 and 16 + 4i to 16 + 4i + 3. If they are
 * far, each half makes one pixel: vector i of a block makes pixels i and i + 4.
 */
enum way {
	WAY_FAR,       /* a load has four taps of a pixel */
	WAY_NEAR,      /* a load has a pair of taps of both pixels */
	WAY_CLOSE,     /* there are two pairs of taps, and a load has both of both pixels */
	WAY_CLOSE_ODD, /* the same, and there is no fourth tap */
};

/*
 * The kernel's memory. `weights` has, for each vector and each pair of taps, the lower parts and
 * then the upper parts; before them, unless neighbours are far, the positions of the bytes. For
 * CLOSE_ODD, in place of the second pair: the position of its one tap, twice, and the parts of its
 * weight. `offsets` has where the taps begin, two for each vector.
 */
struct table {
	enum way way;
	bool odd; /* three taps, and the last one can be paired with itself */
	int32_t vectors, pairs;
	size_t stride; /* of one of a line's rows */
	size_t bytes;  /* that the pass along y makes of a row */
	__m256i *weights;
	uint32_t *offsets;
	int32_t *joined; /* for each pixel and pair of taps: the lower and the upper parts */
	struct row_pair *rows;
};

static inline int32_t join(int32_t first, int32_t second)
{
	return (int32_t)((uint32_t)first & 0xffff) | (int32_t)((uint32_t)second << 16);
}

static inline int32_t join_low(int32_t first, int32_t second)
{
	return join(first & ((1 << PART) - 1), second & ((1 << PART) - 1));
}

static inline int32_t join_high(int32_t first, int32_t second)
{
	return join(first >> PART, second >> PART);
}

/* A weight split for a tap and its 2^SINGLE-fold. The upper part of a weight of 1 would be one too
 * large for 16 bits; weights beyond 1, which few filters have, are done by another method. */
static inline int32_t join_single(int32_t weight)
{
	int32_t high = weight >> SINGLE;
	high = high > INT16_MAX ? INT16_MAX : high;
	return join(weight - high * (1 << SINGLE), high);
}

static inline bool single_fits(int32_t weight)
{
	return weight <= 1 << AXIS_PRECISION && weight >= -(1 << AXIS_PRECISION);
}

INLINE AVX2 __m256i sums_end(__m256i low, __m256i high)
{
	return _mm256_srai_epi32(_mm256_add_epi32(low, _mm256_slli_epi32(high, PART)),
				 AXIS_PRECISION);
}

static inline struct table *table_of(const struct lines *lines)
{
	return (struct table *)(void *)lines->table;
}

/* The pass along y. */
void resample_avx2_rows(const struct lines *lines, struct span span, const int32_t *weights,
			uint8_t *out);

#endif
