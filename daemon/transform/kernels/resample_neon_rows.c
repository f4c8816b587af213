// SPDX-License-Identifier: MIT
/* The pass along y for NEON. Reads up to 31 bytes behind a row. */
#include <string.h>

#include "transform/kernels/resample_neon.h"

#define TAPS_FIXED 6 /* up to so many taps have loops of their own */

/* The sums of 16 bytes, of the first tap; sums_add() adds another one. */
INLINE void sums_begin(int32x4_t sums[4], const struct row_tap *tap, size_t at)
{
	uint8x16_t bytes = vld1q_u8(tap->row + at);
	for (uint8_t i = 0; i < 4; i++)
		sums[i] = vmulq_n_s32(taps_widen(bytes, i), tap->weight);
}

INLINE void sums_add(int32x4_t sums[4], const struct row_tap *tap, size_t at)
{
	uint8x16_t bytes = vld1q_u8(tap->row + at);
	for (uint8_t i = 0; i < 4; i++)
		sums[i] = vmlaq_n_s32(sums[i], taps_widen(bytes, i), tap->weight);
}

INLINE void pass_rows(const struct row_tap *taps, int32_t count, uint8_t *result, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += RESULT) {
		int32x4_t front[4], back[4];
		sums_begin(front, taps, at);
		sums_begin(back, taps, at + 16);
		for (int32_t n = 1; n < count; n++) {
			sums_add(front, &taps[n], at);
			sums_add(back, &taps[n], at + 16);
		}
		vst1q_u8(result + at, sums_pack(front));
		vst1q_u8(result + at + 16, sums_pack(back));
	}
}

/* A copy, because the compiler must assume that stores overwrite the taps. */
INLINE void pass_rows_fixed(const struct row_tap *taps, int32_t count, uint8_t *result,
			    size_t bytes)
{
	struct row_tap fixed[TAPS_FIXED];
	memcpy(fixed, taps, (size_t)count * sizeof(*taps));
	pass_rows(fixed, count, result, bytes);
}

static const uint8_t *row_at(const struct table *table, const struct lines *lines, int32_t row)
{
	if (lines->resample->rows_first)
		return resample_source(lines->resample, row);
	return lines_at(lines, row / GROUP) + (size_t)(row % GROUP) * table->row;
}

void resample_neon_rows(const struct lines *lines, struct span span, const int32_t *weights,
			uint8_t *out)
{
	const struct table *table = table_of(lines);
	for (int32_t i = 0; i < span.count; i++)
		table->rows[i] = (struct row_tap){row_at(table, lines, span.first + i), weights[i]};
	switch (span.count) {
	case 1:
		pass_rows_fixed(table->rows, 1, out, table->bytes);
		break;
	case 2:
		pass_rows_fixed(table->rows, 2, out, table->bytes);
		break;
	case 3:
		pass_rows_fixed(table->rows, 3, out, table->bytes);
		break;
	case 4:
		pass_rows_fixed(table->rows, 4, out, table->bytes);
		break;
	case 5:
		pass_rows_fixed(table->rows, 5, out, table->bytes);
		break;
	case 6:
		pass_rows_fixed(table->rows, 6, out, table->bytes);
		break;
	default:
		pass_rows(table->rows, span.count, out, table->bytes);
		break;
	}
}
