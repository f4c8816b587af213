/* SPDX-License-Identifier: MIT */
/*
 * Shared parts of the two passes for NEON: resample_neon.c prepares and runs that along x,
 * resample_neon_rows.c runs that along y. Weights stay whole: a product of 32 bits costs no more
 * than two of 16. A worker's thread.
 */
#ifndef STOKER_TRANSFORM_KERNELS_RESAMPLE_NEON_H
#define STOKER_TRANSFORM_KERNELS_RESAMPLE_NEON_H

#include "transform/kernels/neon.h"
#include "transform/kernels/resample_kernel.h"

#define GROUP 4	  /* rows */
#define RESULT 32 /* bytes of a row that the pass along y makes together */

/* A tap of the pass along y. */
struct row_tap {
	const uint8_t *row;
	int32_t weight;
};

/* The kernel's memory. */
struct table {
	int32_t taps;	  /* of a pixel, in the pass along x */
	int32_t stride;	  /* weights from a pixel's to the next one's: `taps`, to a multiple of 4 */
	size_t row;	  /* bytes from one of a line's rows to the next */
	size_t bytes;	  /* that the pass along y makes of a row */
	int32_t *weights; /* of each pixel, then zeros */
	uint32_t *offsets; /* of each pixel's first tap in `source`, in bytes */
	uint8_t *source;   /* a group of rows, byte by byte: one byte of each row */
	uint8_t *result;   /* likewise, of the pass along x */
	struct row_tap *rows;
};

INLINE int32x4_t taps_widen(uint8x16_t bytes, uint8_t i)
{
	return vreinterpretq_s32_u32(bytes_widen(bytes, i));
}

/* Sums to bytes: shifted right by AXIS_PRECISION, to nearest, and clipped. Two shifts do that, the
 * second of which rounds. */
INLINE uint8x16_t sums_pack(const int32x4_t sums[4])
{
	uint16x8_t front = vqshrun_high_n_s32(vqshrun_n_s32(sums[0], 16), sums[1], 16);
	uint16x8_t back = vqshrun_high_n_s32(vqshrun_n_s32(sums[2], 16), sums[3], 16);
	return vqrshrn_high_n_u16(vqrshrn_n_u16(front, AXIS_PRECISION - 16), back,
				  AXIS_PRECISION - 16);
}

static inline struct table *table_of(const struct lines *lines)
{
	return (struct table *)(void *)lines->table;
}

/* The pass along y. */
void resample_neon_rows(const struct lines *lines, struct span span, const int32_t *weights,
			uint8_t *out);

#endif
