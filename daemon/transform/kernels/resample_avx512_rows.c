// SPDX-License-Identifier: MIT
/* The pass along y for AVX-512. Reads up to 63 bytes behind a row. */
#include <string.h>

#include "transform/kernels/resample_avx512.h"

static size_t avx512_row(const struct resample *resample)
{
	return (resample_row(resample) + BLOCK - 1) / BLOCK * BLOCK;
}

/* Taps of one line, or of the end of one and the beginning of the next, shifted by `shift` bits. */
INLINE AVX512 void pass_rows_few(const struct row_quad *quad, const uint8_t *next, int32_t shift,
				 uint8_t *result, size_t bytes)
{
	const __m512i low = _mm512_set1_epi32(quad->low), middle = _mm512_set1_epi32(quad->middle);
	const __m512i high = _mm512_set1_epi32(quad->high), shifts = _mm512_set1_epi32(shift);
	const uint8_t *line = quad->rows[0];
	for (size_t at = 0; at < bytes; at += BLOCK) {
		__m512i sums[4];
		for (size_t i = 0; i < 4; i++) {
			size_t place = GROUP * at + BLOCK * i;
			__m512i taps = _mm512_load_si512(line + place);
			if (next)
				taps = _mm512_shrdv_epi32(taps, _mm512_load_si512(next + place),
							  shifts);
			sums[i] = parts_sum(taps, low, middle, high);
		}
		_mm512_storeu_si512(result + at, sums_end_turned(sums));
	}
}

INLINE AVX512 void pass_rows(const struct row_quad *quads, int32_t count, uint8_t *result,
			     size_t bytes)
{
	for (size_t at = 0; at < bytes; at += BLOCK) {
		struct parts parts[4];
		__m512i sums[4];
		for (int i = 0; i < 4; i++)
			parts[i] = (struct parts){_mm512_setzero_si512(), _mm512_setzero_si512(),
						  _mm512_set1_epi32(ROUND)};
		for (int32_t n = 0; n < count; n++) {
			const __m512i low = _mm512_set1_epi32(quads[n].low);
			const __m512i middle = _mm512_set1_epi32(quads[n].middle);
			const __m512i high = _mm512_set1_epi32(quads[n].high);
			for (size_t i = 0; i < 4; i++)
				parts_add(&parts[i],
					  _mm512_load_si512(quads[n].rows[0] + GROUP * at +
							    BLOCK * i),
					  low, middle, high);
		}
		for (int i = 0; i < 4; i++)
			sums[i] = parts_join(&parts[i]);
		_mm512_storeu_si512(result + at, sums_end_turned(sums));
	}
}

/* BLOCK bytes of four rows, as words. */
INLINE AVX512 void rows_join(const uint8_t *const rows[GROUP], size_t at, __m512i taps[4])
{
	__m512i first = _mm512_loadu_si512(rows[0] + at), second = _mm512_loadu_si512(rows[1] + at);
	__m512i third = _mm512_loadu_si512(rows[2] + at), fourth = _mm512_loadu_si512(rows[3] + at);
	__m512i front = _mm512_unpacklo_epi8(first, second);
	__m512i back = _mm512_unpackhi_epi8(first, second);
	__m512i front_next = _mm512_unpacklo_epi8(third, fourth);
	__m512i back_next = _mm512_unpackhi_epi8(third, fourth);
	taps[0] = _mm512_unpacklo_epi16(front, front_next);
	taps[1] = _mm512_unpackhi_epi16(front, front_next);
	taps[2] = _mm512_unpacklo_epi16(back, back_next);
	taps[3] = _mm512_unpackhi_epi16(back, back_next);
}

/* The sums of BLOCK bytes. What joining puts apart within each quarter, packing puts together. */
INLINE AVX512 void source_sum(const struct row_quad *quads, int32_t count, size_t at,
			      __m512i sums[4])
{
	struct parts parts[4];
	__m512i taps[4];
	for (int i = 0; i < 4; i++)
		parts[i] = (struct parts){_mm512_setzero_si512(), _mm512_setzero_si512(),
					  _mm512_set1_epi32(ROUND)};
	for (int32_t n = 0; n < count; n++) {
		const __m512i low = _mm512_set1_epi32(quads[n].low);
		const __m512i middle = _mm512_set1_epi32(quads[n].middle);
		const __m512i high = _mm512_set1_epi32(quads[n].high);
		rows_join(quads[n].rows, at, taps);
		for (int i = 0; i < 4; i++) {
			if (count == 1)
				sums[i] = parts_sum(taps[i], low, middle, high);
			else
				parts_add(&parts[i], taps[i], low, middle, high);
		}
	}
	for (int i = 0; i < 4 && count > 1; i++)
		sums[i] = parts_join(&parts[i]);
}

/* The pass along y of rows of the picture. */
INLINE AVX512 void pass_source(const struct row_quad *quads, int32_t count, uint8_t *out,
			       size_t bytes)
{
	for (size_t at = 0; at < bytes; at += BLOCK) {
		__m512i sums[4];
		source_sum(quads, count, at, sums);
		_mm512_storeu_si512(out + at, sums_end(sums));
	}
}

static AVX512 void row_quad_weigh(struct row_quad *quad, const int32_t *weights, int32_t count)
{
	_Alignas(16) int32_t parts[4];
	_mm_store_si128((__m128i *)parts, weights_part(weights, count));
	quad->low = parts[0];
	quad->middle = parts[1];
	quad->high = parts[2];
}

static AVX512 void row_quad_set(struct row_quad *quad, const struct lines *lines, int32_t group,
				const int32_t *weights, int32_t count)
{
	quad->rows[0] = lines_at(lines, group);
	row_quad_weigh(quad, weights, count);
}

/* More than four taps: of whole groups; the first one may begin with other rows. */
static AVX512 int32_t rows_quads(const struct table *table, const struct lines *lines,
				 struct span span, const int32_t *weights)
{
	int32_t group = span.first / GROUP, before = span.first % GROUP, count = 1;
	int32_t four[GROUP] = {0};
	int32_t used = GROUP - before;
	memcpy(four + before, weights, (size_t)used * sizeof(*weights));
	row_quad_set(&table->rows[0], lines, group, four, GROUP);
	for (; used < span.count; used += GROUP, count++)
		row_quad_set(&table->rows[count], lines, group + count, weights + used,
			     span.count - used);
	return count;
}

static AVX512 void rows_few(const struct table *table, const struct lines *lines, struct span span,
			    const int32_t *weights, uint8_t *out, size_t bytes)
{
	int32_t group = span.first / GROUP, before = span.first % GROUP;
	int32_t four[GROUP] = {0};
	if (before + span.count > GROUP) {
		row_quad_set(table->rows, lines, group, weights, span.count);
		pass_rows_few(table->rows, lines_at(lines, group + 1), 8 * before, out, bytes);
		return;
	}
	memcpy(four + before, weights, (size_t)span.count * sizeof(*weights));
	row_quad_set(table->rows, lines, group, four, GROUP);
	pass_rows_few(table->rows, NULL, 0, out, bytes);
}

/* Taps behind the last one repeat its row; their weight is 0. */
static AVX512 void rows_source(const struct table *table, const struct lines *lines,
			       struct span span, const int32_t *weights, uint8_t *out, size_t bytes)
{
	int32_t count = 0;
	for (int32_t used = 0; used < span.count; used += GROUP, count++) {
		struct row_quad *quad = &table->rows[count];
		for (int32_t i = 0; i < GROUP; i++) {
			int32_t tap = used + i < span.count ? used + i : span.count - 1;
			quad->rows[i] = resample_source(lines->resample, span.first + tap);
		}
		row_quad_weigh(quad, weights + used, span.count - used);
	}
	if (count == 1)
		pass_source(table->rows, 1, out, bytes);
	else if (count == 2)
		pass_source(table->rows, 2, out, bytes);
	else
		pass_source(table->rows, count, out, bytes);
}

AVX512 void resample_avx512_rows(const struct lines *lines, struct span span,
				 const int32_t *weights, uint8_t *out)
{
	const struct table *table = table_of(lines);
	size_t bytes = avx512_row(lines->resample);
	if (lines->resample->rows_first) {
		rows_source(table, lines, span, weights, out, bytes);
		return;
	}
	if (span.count <= GROUP) {
		rows_few(table, lines, span, weights, out, bytes);
		return;
	}
	int32_t count = rows_quads(table, lines, span, weights);
	if (count == 2)
		pass_rows(table->rows, 2, out, bytes);
	else
		pass_rows(table->rows, count, out, bytes);
}
