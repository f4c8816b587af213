// SPDX-License-Identifier: MIT
#include "work/resample.h"

#include <stdbool.h>
#include <string.h>

#define PRECISION AXIS_PRECISION
#define HALF (1u << (PRECISION - 1))
#define BLOCK 32 /* rows are kept in multiples of it: no loop has an end of its own */

/*
 * Two rows go through the first pass as one: their bytes stand side by side in the halves of a
 * 64-bit word, and one multiplication does both. Each half begins at BIAS: a sum stays within
 * -255 to 3 * 255 times 2^PRECISION (a filter's negative weights add up to less than 1, whatever
 * the sizes), so nothing is borrowed from the other half and nothing is carried into it.
 */
#define BIAS ((uint32_t)256 << PRECISION)
#define START ((uint64_t)(BIAS + HALF) << 32 | (BIAS + HALF))

static void pair_join(const uint8_t *restrict first, const uint8_t *restrict second, size_t count,
		      uint64_t *restrict out)
{
	for (size_t i = 0; i < count; i++)
		out[i] = (uint64_t)second[i] << 32 | first[i];
}

/* Of 16 bits, for which every machine has a minimum and a maximum of many at a time. */
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

/* `taps` is what the axis has; a constant where that is worth a loop of its own. */
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

/*
 * The first pass's result, as far as the second still needs it. Rows 2p and 2p + 1 of the source
 * (counted from the first that is read) are kept in lines 2s and 2s + 1, s = p % count.
 */
struct lines {
	uint8_t *pixels; /* lines of `stride` bytes, a multiple of BLOCK */
	size_t stride;
	int32_t *held;		/* which pair of rows a pair of lines holds, or -1 */
	int32_t count;		/* pairs */
	uint64_t *pairs, *sums; /* of a pair of rows on its way through the first pass */
	uint32_t *highs, *lows; /* the sums of a row of the second pass */
	uint8_t *result;	/* and that row */
};

static const uint8_t *lines_row(const struct lines *lines, int32_t row)
{
	size_t line = 2 * (size_t)(row / 2 % lines->count) + (size_t)(row & 1);
	return lines->pixels + line * lines->stride;
}

static void lines_make(struct lines *lines, const struct resample *resample, int32_t pair)
{
	const struct image *image = &resample->image;
	const struct span *columns = &resample->x->source, *rows = &resample->y->source;
	int32_t row = 2 * pair, next = row + 1 < rows->count ? row + 1 : row;
	const uint8_t *source = image->pixels +
				(size_t)(rows->first - image->area.y) * image->stride +
				3 * (size_t)(columns->first - image->area.x);
	uint8_t *line = lines->pixels + 2 * (size_t)(pair % lines->count) * lines->stride;
	pair_join(source + (size_t)row * image->stride, source + (size_t)next * image->stride,
		  3 * (size_t)columns->count, lines->pairs);
	pass_columns_of(resample, lines->pairs, lines->sums);
	pair_part(lines->sums, 3 * (size_t)resample->width, line, line + lines->stride);
	lines->held[pair % lines->count] = pair;
}

static void lines_reach(struct lines *lines, const struct resample *resample, struct span span)
{
	for (int32_t pair = span.first / 2; pair <= (span.first + span.count - 1) / 2; pair++) {
		if (lines->held[pair % lines->count] != pair)
			lines_make(lines, resample, pair);
	}
}

/*
 * A weight is taken apart into high * 2^11 + low, each of 16 bits: products of 16 bits are what
 * every machine can do many of at a time. Sums are modulo 2^32, as Pillow's are in practice. A
 * function of its own, or the compiler merges it with the loop around it and does one at a time.
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

static void pass_rows(const struct lines *lines, struct span span, const int32_t *weights)
{
	memset(lines->highs, 0, lines->stride * sizeof(*lines->highs));
	memset(lines->lows, 0, lines->stride * sizeof(*lines->lows));
	for (int32_t i = 0; i < span.count; i += 2) {
		bool both = i + 1 < span.count;
		const uint8_t *const rows[2] = {lines_row(lines, span.first + i),
						lines_row(lines, span.first + i + both)};
		const int32_t two[2] = {weights[i], both ? weights[i + 1] : 0};
		rows_add(lines->highs, lines->lows, rows, two, lines->stride);
	}
	rows_end(lines->highs, lines->lows, lines->result, lines->stride);
}

static size_t lines_piece(size_t *bytes, size_t piece)
{
	size_t at = *bytes;
	*bytes += (piece + 63) & ~(size_t)63;
	return at;
}

static int lines_begin(struct lines *lines, const struct resample *resample, struct buffer *scratch)
{
	size_t bytes = 0, row = 3 * (size_t)resample->width;
	lines->count = resample->y->widest / 2 + 1;
	lines->stride = (row + BLOCK - 1) / BLOCK * BLOCK;
	size_t pixels = lines_piece(&bytes, 2 * (size_t)lines->count * lines->stride);
	size_t held = lines_piece(&bytes, (size_t)lines->count * sizeof(*lines->held));
	size_t pairs =
		lines_piece(&bytes, 3 * (size_t)resample->x->source.count * sizeof(uint64_t));
	size_t sums = lines_piece(&bytes, row * sizeof(uint64_t));
	size_t highs = lines_piece(&bytes, lines->stride * sizeof(*lines->highs));
	size_t lows = lines_piece(&bytes, lines->stride * sizeof(*lines->lows));
	size_t result = lines_piece(&bytes, lines->stride);
	int r = buffer_reserve(scratch, bytes);
	if (r < 0)
		return r;
	lines->pixels = scratch->data + pixels;
	lines->held = (int32_t *)(scratch->data + held);
	lines->pairs = (uint64_t *)(scratch->data + pairs);
	lines->sums = (uint64_t *)(scratch->data + sums);
	lines->highs = (uint32_t *)(scratch->data + highs);
	lines->lows = (uint32_t *)(scratch->data + lows);
	lines->result = scratch->data + result;
	memset(lines->held, 0xff, (size_t)lines->count * sizeof(*lines->held));
	return 0;
}

int resample_run(const struct resample *resample, struct buffer *scratch, resample_put *put,
		 void *context)
{
	const struct axis *axis = resample->y;
	struct lines lines;
	int r = lines_begin(&lines, resample, scratch);
	if (r < 0)
		return r;
	for (int32_t y = 0; y < resample->height; y++) {
		size_t row = (size_t)resample->rows[y];
		struct span span = axis->spans[row];
		span.first -= axis->source.first;
		lines_reach(&lines, resample, span);
		pass_rows(&lines, span, axis->weights + row * (size_t)axis->stride);
		put(context, y, lines.result);
	}
	return 0;
}
