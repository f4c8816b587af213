// SPDX-License-Identifier: MIT
/* The pass along y for AVX2. */
#include <string.h>

#include "transform/kernels/resample_avx2.h"

#define PAIRS_FIXED 4 /* up to so many pairs of rows have loops of their own */

/* The sums of 32 bytes: sums[i] has bytes 4i to 4i + 3 of each half. */
struct row_sums {
	__m256i low[4], high[4];
};

INLINE AVX2 void row_sums_add(struct row_sums *sums, const struct row_pair *pair, size_t at)
{
	const __m256i zero = _mm256_setzero_si256();
	const __m256i lows = _mm256_set1_epi32(pair->low), highs = _mm256_set1_epi32(pair->high);
	__m256i first = _mm256_loadu_si256((const __m256i *)(pair->first + at));
	__m256i second = _mm256_loadu_si256((const __m256i *)(pair->second + at));
	__m256i front = _mm256_unpacklo_epi8(first, second);
	__m256i back = _mm256_unpackhi_epi8(first, second);
	const __m256i taps[4] = {
		_mm256_unpacklo_epi8(front, zero), _mm256_unpackhi_epi8(front, zero),
		_mm256_unpacklo_epi8(back, zero), _mm256_unpackhi_epi8(back, zero)};
	for (int i = 0; i < 4; i++) {
		sums->low[i] = _mm256_add_epi32(sums->low[i], _mm256_madd_epi16(taps[i], lows));
		sums->high[i] = _mm256_add_epi32(sums->high[i], _mm256_madd_epi16(taps[i], highs));
	}
}

/* A pair that is one row; both parts of its weight are in `low`. */
INLINE AVX2 void row_sums_add_single(struct row_sums *sums, const struct row_pair *pair, size_t at)
{
	const __m256i zero = _mm256_setzero_si256(), both = _mm256_set1_epi32(pair->low);
	__m256i row = _mm256_loadu_si256((const __m256i *)(pair->first + at));
	__m256i front = _mm256_unpacklo_epi8(row, zero), back = _mm256_unpackhi_epi8(row, zero);
	__m256i fronts = _mm256_slli_epi16(front, SINGLE), backs = _mm256_slli_epi16(back, SINGLE);
	const __m256i taps[4] = {
		_mm256_unpacklo_epi16(front, fronts), _mm256_unpackhi_epi16(front, fronts),
		_mm256_unpacklo_epi16(back, backs), _mm256_unpackhi_epi16(back, backs)};
	for (int i = 0; i < 4; i++)
		sums->low[i] = _mm256_add_epi32(sums->low[i], _mm256_madd_epi16(taps[i], both));
}

/* `odd`: behind `count` pairs there is one of a single row. */
INLINE AVX2 void pass_rows(const struct row_pair *pairs, int32_t count, bool odd, uint8_t *result,
			   size_t bytes)
{
	for (size_t at = 0; at < bytes; at += RESULT) {
		struct row_sums sums;
		for (int i = 0; i < 4; i++) {
			sums.low[i] = _mm256_set1_epi32(RESAMPLE_HALF);
			sums.high[i] = _mm256_setzero_si256();
		}
		for (int32_t n = 0; n < count; n++)
			row_sums_add(&sums, &pairs[n], at);
		if (odd)
			row_sums_add_single(&sums, &pairs[count], at);
		for (int i = 0; i < 4; i++)
			sums.low[i] = sums_end(sums.low[i], sums.high[i]);
		__m256i front = _mm256_packs_epi32(sums.low[0], sums.low[1]);
		__m256i back = _mm256_packs_epi32(sums.low[2], sums.low[3]);
		_mm256_storeu_si256((__m256i *)(result + at), _mm256_packus_epi16(front, back));
	}
}

/* A copy, because the compiler must assume that stores overwrite the pairs. */
INLINE AVX2 void pass_rows_fixed(const struct row_pair *pairs, int32_t count, bool odd,
				 uint8_t *result, size_t bytes)
{
	struct row_pair fixed[PAIRS_FIXED];
	memcpy(fixed, pairs, (size_t)(count + odd) * sizeof(*pairs));
	pass_rows(fixed, count, odd, result, bytes);
}

static const uint8_t *row_at(const struct table *table, const struct lines *lines, int32_t row)
{
	if (lines->resample->rows_first)
		return resample_source(lines->resample, row);
	return lines_at(lines, row / GROUP) + (size_t)(row % GROUP) * table->stride;
}

/* Returns whether the last pair is one row. */
static bool rows_pair(const struct table *table, const struct lines *lines, struct span span,
		      const int32_t *weights)
{
	struct row_pair *pair = table->rows;
	for (int32_t i = 0; i < span.count; i += 2, pair++) {
		int32_t both = i + 1 < span.count, second = both ? weights[i + 1] : 0;
		pair->first = row_at(table, lines, span.first + i);
		pair->second = row_at(table, lines, span.first + i + both);
		pair->low = join_low(weights[i], second);
		pair->high = join_high(weights[i], second);
	}
	int32_t last = weights[span.count - 1];
	if (span.count % 2 == 0 || !single_fits(last))
		return false;
	pair[-1].low = join_single(last);
	return true;
}

AVX2 void resample_avx2_rows(const struct lines *lines, struct span span, const int32_t *weights,
			     uint8_t *out)
{
	const struct table *table = table_of(lines);
	size_t bytes = table->bytes;
	bool odd = rows_pair(table, lines, span, weights);
	int32_t pairs = (span.count + 1) / 2 - odd;
	if (pairs == 1 && !odd)
		pass_rows_fixed(table->rows, 1, false, out, bytes);
	else if (pairs == 1)
		pass_rows_fixed(table->rows, 1, true, out, bytes);
	else if (pairs == 2 && !odd)
		pass_rows_fixed(table->rows, 2, false, out, bytes);
	else if (pairs == 2)
		pass_rows_fixed(table->rows, 2, true, out, bytes);
	else if (pairs == 3 && !odd)
		pass_rows_fixed(table->rows, 3, false, out, bytes);
	else
		pass_rows(table->rows, pairs, odd, out, bytes);
}
