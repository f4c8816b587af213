// SPDX-License-Identifier: MIT
/*
 * For NEON. The pass along x does four rows at once, one in each lane of a register: their bytes
 * are interleaved before it and separated behind it. Reads up to 15 bytes behind a row.
 */
#include "transform/kernels/resample_neon.h"

#define STEP 16	 /* bytes of a row that are interleaved or separated together */
#define PIXEL 12 /* bytes of a pixel of four rows */
#define BLOCK 4	 /* pixels that are made together */

struct layout {
	size_t weights, offsets, source, result, rows, bytes;
};

static size_t step_up(size_t bytes, size_t step)
{
	return (bytes + step - 1) / step * step;
}

static size_t neon_row(const struct resample *resample)
{
	return step_up(3 * (size_t)resample->width, RESULT);
}

static size_t neon_line(const struct resample *resample)
{
	return GROUP * neon_row(resample);
}

/* Pixels that the pass along x makes: the last ones may be nobody's. */
static size_t made_pixels(const struct resample *resample)
{
	return step_up((size_t)resample->width, BLOCK);
}

static struct layout layout_of(const struct resample *resample)
{
	struct layout layout = {0};
	size_t pixels = made_pixels(resample), taps = (size_t)resample->x->widest;
	size_t source = step_up(3 * (size_t)resample->x->source.count, STEP);
	piece_after(&layout.bytes, sizeof(struct table));
	layout.weights = piece_after(&layout.bytes, pixels * step_up(taps, 4) * sizeof(int32_t));
	layout.offsets = piece_after(&layout.bytes, pixels * sizeof(uint32_t));
	/* The last pixel's last load is wider than a pixel, and four taps are loaded, if fewer are
	 * left, with weights of zero. */
	layout.source = piece_after(&layout.bytes, GROUP * source + 4 * PIXEL);
	layout.result = piece_after(&layout.bytes, GROUP * neon_row(resample) + BLOCK * PIXEL);
	layout.rows =
		piece_after(&layout.bytes, (size_t)resample->y->widest * sizeof(struct row_tap));
	return layout;
}

static size_t neon_table(const struct resample *resample)
{
	return layout_of(resample).bytes;
}

static bool neon_begin(const struct lines *lines)
{
	const struct resample *resample = lines->resample;
	const struct layout layout = layout_of(resample);
	struct table *table = table_of(lines);
	table->taps = resample->x->widest;
	table->stride = (int32_t)step_up((size_t)table->taps, 4);
	table->row = neon_row(resample);
	table->bytes = step_up(resample_row(resample), RESULT);
	table->weights = (int32_t *)(void *)(lines->table + layout.weights);
	table->offsets = (uint32_t *)(void *)(lines->table + layout.offsets);
	table->source = lines->table + layout.source;
	table->result = lines->table + layout.result;
	table->rows = (struct row_tap *)(void *)(lines->table + layout.rows);
	int32_t *weight = table->weights;
	for (int32_t i = 0; i < (int32_t)made_pixels(resample); i++, weight += table->stride) {
		int32_t x = i < resample->width ? i : resample->width - 1;
		const int32_t *from = resample_weights(resample, x);
		for (int32_t n = 0; n < table->stride; n++)
			weight[n] = n < table->taps ? from[n] : 0;
		table->offsets[i] = GROUP * (uint32_t)resample_column(resample, x);
	}
	return true;
}

static void rows_join(const uint8_t *const *rows, size_t bytes, uint8_t *out)
{
	for (size_t at = 0; at < bytes; at += STEP, out += GROUP * STEP) {
		const uint8x16x4_t four = {{vld1q_u8(rows[0] + at), vld1q_u8(rows[1] + at),
					    vld1q_u8(rows[2] + at), vld1q_u8(rows[3] + at)}};
		vst4q_u8(out, four);
	}
}

static void rows_part(const uint8_t *joined, size_t bytes, uint8_t *out, size_t row)
{
	for (size_t at = 0; at < bytes; at += STEP, joined += GROUP * STEP) {
		const uint8x16x4_t four = vld4q_u8(joined);
		for (size_t i = 0; i < GROUP; i++)
			vst1q_u8(out + i * row + at, four.val[i]);
	}
}

/* Add up to four taps of a pixel: a register of sums for each channel. The first tap sets them. */
INLINE void taps_add(int32x4_t sums[3], const uint8_t *pixel, int32x4_t weights, int32_t taps,
		     bool first)
{
	for (int32_t i = 0; i < taps; i++) {
		uint8x16_t bytes = vld1q_u8(pixel + i * PIXEL);
		for (uint8_t c = 0; c < 3; c++) {
			int32x4_t wide = taps_widen(bytes, c);
			sums[c] = first && i == 0 ? vmulq_n_s32(wide, weights[i])
						  : vmlaq_n_s32(sums[c], wide, weights[i]);
		}
	}
}

INLINE void pixel_sum(int32x4_t sums[3], const uint8_t *pixel, const int32_t *weights, int32_t taps)
{
	for (int32_t i = 0; i < taps; i += 4)
		taps_add(sums, pixel + i * PIXEL, vld1q_s32(weights + i),
			 taps - i < 4 ? taps - i : 4, i == 0);
}

INLINE void pass_columns(const struct table *table, size_t pixels, int32_t taps)
{
	const int32_t *weights = table->weights, stride = (taps + 3) / 4 * 4;
	const uint32_t *offset = table->offsets;
	uint8_t *out = table->result;
	for (size_t x = 0; x < pixels; x += BLOCK, out += BLOCK * PIXEL) {
		int32x4_t sums[3 * BLOCK];
		for (int i = 0; i < BLOCK; i++, weights += stride)
			pixel_sum(sums + 3 * i, table->source + *offset++, weights, taps);
		for (int i = 0; i < 3; i++)
			vst1q_u8(out + 16 * i, sums_pack(sums + 4 * i));
	}
}

static void pass_columns_of(const struct table *table, size_t pixels)
{
	switch (table->taps) {
	case 1:
	case 2:
		pass_columns(table, pixels, 2);
		break;
	case 3:
		pass_columns(table, pixels, 3);
		break;
	case 4:
		pass_columns(table, pixels, 4);
		break;
	case 5:
		pass_columns(table, pixels, 5);
		break;
	case 6:
		pass_columns(table, pixels, 6);
		break;
	case 7:
		pass_columns(table, pixels, 7);
		break;
	case 9:
		pass_columns(table, pixels, 9);
		break;
	default:
		pass_columns(table, pixels, table->stride);
		break;
	}
}

static void neon_columns(const struct lines *lines, const uint8_t *const *rows, uint8_t *out)
{
	const struct resample *resample = lines->resample;
	const struct table *table = table_of(lines);
	rows_join(rows, 3 * (size_t)resample->x->source.count, table->source);
	pass_columns_of(table, made_pixels(resample));
	rows_part(table->result, 3 * (size_t)resample->width, out, table->row);
}

const struct resample_kernel resample_neon = {
	.group = GROUP,
	.line = neon_line,
	.table = neon_table,
	.result = neon_row,
	.begin = neon_begin,
	.columns = neon_columns,
	.rows = resample_neon_rows,
};
