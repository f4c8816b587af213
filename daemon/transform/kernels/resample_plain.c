// SPDX-License-Identifier: MIT
/* In C that compilers vectorise well. The other kernels are compared with it. */
#include <string.h>

#include "transform/kernels/resample_kernel.h"

#define PRECISION AXIS_PRECISION
#define HALF ((uint32_t)RESAMPLE_HALF)
#define BLOCK 32 /* bytes; rows are padded to multiples of it, so loops need no remainder */

/*
 * Two rows go through the pass along x as one: their bytes are the halves of a 64-bit word, so that
 * one multiplication does both. Each half starts at BIAS: a sum is within -255 to 3 * 255 times
 * 2^PRECISION (a filter's negative weights add up to less than 1, whatever the sizes), so nothing
 * is borrowed from the other half or carried into it.
 */
#define BIAS ((uint32_t)256 << PRECISION)
#define START ((uint64_t)(BIAS + HALF) << 32 | (BIAS + HALF))

static void pair_join(const uint8_t *restrict first, const uint8_t *restrict second, size_t count,
		      uint64_t *restrict out)
{
	for (size_t i = 0; i < count; i++)
		out[i] = (uint64_t)second[i] << 32 | first[i];
}

/* In 16 bits, for which every machine has vector instructions for minimum and maximum. */
static inline uint8_t clip(int16_t value)
{
	value = value < 0 ? 0 : value;
	return (uint8_t)(value > 255 ? 255 : value);
}

static void pair_part(const uint64_t *restrict sums, size_t count, uint8_t *restrict first,
		      uint8_t *restrict second)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t low = (uint32_t)sums[i], high = (uint32_t)(sums[i] >> 32);
		first[i] = clip((int16_t)((low >> PRECISION) - 256));
		second[i] = clip((int16_t)((high >> PRECISION) - 256));
	}
}

/* `taps` is the axis' number, as a constant where a loop of its own is worth it. */
static inline __attribute__((always_inline)) void
pass_columns(const struct resample *resample, const uint64_t *pairs, uint64_t *sums, int32_t taps)
{
	const struct axis *axis = resample->x;
	for (int32_t x = 0; x < resample->width; x++, sums += 3) {
		size_t column = (size_t)resample->columns[x];
		const int32_t *weight = axis->weights + column * (size_t)axis->stride;
		const uint64_t *pair =
			pairs + 3 * (size_t)(axis->spans[column].first - axis->source.first);
		uint64_t red = START, green = START, blue = START;
		for (int32_t i = 0; i < taps; i++, pair += 3) {
			uint64_t w = (uint64_t)(int64_t)weight[i];
			red += pair[0] * w;
			green += pair[1] * w;
			blue += pair[2] * w;
		}
		sums[0] = red;
		sums[1] = green;
		sums[2] = blue;
	}
}

static void pass_columns_of(const struct resample *resample, const uint64_t *pairs, uint64_t *sums)
{
	switch (resample->x->widest) {
	case 2:
		pass_columns(resample, pairs, sums, 2);
		break;
	case 3:
		pass_columns(resample, pairs, sums, 3);
		break;
	case 4:
		pass_columns(resample, pairs, sums, 4);
		break;
	case 5:
		pass_columns(resample, pairs, sums, 5);
		break;
	case 6:
		pass_columns(resample, pairs, sums, 6);
		break;
	default:
		pass_columns(resample, pairs, sums, resample->x->widest);
		break;
	}
}

/* The kernel's memory. A group is two rows, one after the other. */
struct sums {
	size_t stride;		/* of one of the rows, a multiple of BLOCK */
	size_t row;		/* bytes that the pass along y makes, likewise */
	uint64_t *pairs, *sums; /* of a pair of rows in the pass along x */
	uint32_t *highs, *lows; /* the sums of a row of the pass along y */
};

static size_t blocks_of(size_t bytes)
{
	return (bytes + BLOCK - 1) / BLOCK * BLOCK;
}

static size_t plain_stride(const struct resample *resample)
{
	return blocks_of(3 * (size_t)resample->width);
}

static size_t plain_line(const struct resample *resample)
{
	return 2 * plain_stride(resample);
}

struct layout {
	size_t pairs, sums, highs, lows, bytes;
};

static struct layout layout_of(const struct resample *resample)
{
	struct layout layout = {0};
	size_t row = 3 * (size_t)resample->width, made = blocks_of(resample_row(resample));
	size_t source = 3 * (size_t)resample->x->source.count;
	piece_after(&layout.bytes, sizeof(struct sums));
	layout.pairs = piece_after(&layout.bytes, source * sizeof(uint64_t));
	layout.sums = piece_after(&layout.bytes, row * sizeof(uint64_t));
	layout.highs = piece_after(&layout.bytes, made * sizeof(uint32_t));
	layout.lows = piece_after(&layout.bytes, made * sizeof(uint32_t));
	return layout;
}

static size_t plain_table(const struct resample *resample)
{
	return layout_of(resample).bytes;
}

static struct sums *sums_of(const struct lines *lines)
{
	return (struct sums *)(void *)lines->table;
}

static bool plain_begin(const struct lines *lines)
{
	const struct layout layout = layout_of(lines->resample);
	struct sums *sums = sums_of(lines);
	sums->stride = plain_stride(lines->resample);
	sums->row = blocks_of(resample_row(lines->resample));
	sums->pairs = (uint64_t *)(void *)(lines->table + layout.pairs);
	sums->sums = (uint64_t *)(void *)(lines->table + layout.sums);
	sums->highs = (uint32_t *)(void *)(lines->table + layout.highs);
	sums->lows = (uint32_t *)(void *)(lines->table + layout.lows);
	return true;
}

static void plain_columns(const struct lines *lines, const uint8_t *const *rows, uint8_t *out)
{
	const struct resample *resample = lines->resample;
	const struct sums *sums = sums_of(lines);
	pair_join(rows[0], rows[1], 3 * (size_t)resample->x->source.count, sums->pairs);
	pass_columns_of(resample, sums->pairs, sums->sums);
	pair_part(sums->sums, 3 * (size_t)resample->width, out, out + sums->stride);
}

/*
 * A weight is split into high * 2^11 + low, each of 16 bits: every machine has vector products of
 * 16 bits. Sums are modulo 2^32, as Pillow's are in practice. A function of its own, because the
 * compiler would else merge it with the loop around it and not vectorise it.
 */
static __attribute__((noinline)) void rows_add(uint32_t *restrict highs, uint32_t *restrict lows,
					       const uint8_t *const rows[2],
					       const int32_t weights[2], size_t count)
{
	const uint8_t *row1 = rows[0], *row2 = rows[1];
	int16_t high1 = (int16_t)(weights[0] >> 11), low1 = (int16_t)(weights[0] & 0x7ff);
	int16_t high2 = (int16_t)(weights[1] >> 11), low2 = (int16_t)(weights[1] & 0x7ff);
	for (size_t i = 0; i < count; i++) {
		int16_t pixel1 = row1[i], pixel2 = row2[i];
		highs[i] += (uint32_t)(pixel1 * high1) + (uint32_t)(pixel2 * high2);
		lows[i] += (uint32_t)(pixel1 * low1) + (uint32_t)(pixel2 * low2);
	}
}

static void rows_end(const uint32_t *restrict highs, const uint32_t *restrict lows,
		     uint8_t *restrict out, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t sum = (highs[i] << 11) + lows[i] + HALF;
		out[i] = clip((int16_t)((int32_t)sum >> PRECISION));
	}
}

static const uint8_t *row_at(const struct lines *lines, int32_t row)
{
	if (lines->resample->rows_first)
		return resample_source(lines->resample, row);
	return lines_at(lines, row / 2) + (row % 2 ? sums_of(lines)->stride : 0);
}

static void plain_rows(const struct lines *lines, struct span span, const int32_t *weights,
		       uint8_t *out)
{
	const struct sums *sums = sums_of(lines);
	memset(sums->highs, 0, sums->row * sizeof(*sums->highs));
	memset(sums->lows, 0, sums->row * sizeof(*sums->lows));
	for (int32_t i = 0; i < span.count; i += 2) {
		bool both = i + 1 < span.count;
		const uint8_t *const rows[2] = {row_at(lines, span.first + i),
						row_at(lines, span.first + i + both)};
		const int32_t two[2] = {weights[i], both ? weights[i + 1] : 0};
		rows_add(sums->highs, sums->lows, rows, two, sums->row);
	}
	rows_end(sums->highs, sums->lows, out, sums->row);
}

const struct resample_kernel resample_plain = {
	.group = 2,
	.line = plain_line,
	.table = plain_table,
	.result = plain_stride,
	.begin = plain_begin,
	.columns = plain_columns,
	.rows = plain_rows,
};
