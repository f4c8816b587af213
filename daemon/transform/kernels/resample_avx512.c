// SPDX-License-Identifier: MIT
/*
 * The pass along x for AVX-512 with VBMI, VBMI2 and VNNI. Four rows go through it together: each
 * word of 32 bits of a line has one byte of each of them, as vpdpbusd needs them in the pass along
 * y. If that comes first, it joins rows of the picture to such words itself. Reads up to 63 bytes
 * behind a row.
 */
#include "transform/kernels/resample_avx512.h"

struct layout {
	size_t quad, base, offsets, parts, rows, bytes;
};

static size_t vectors_of(const struct resample *resample)
{
	return (3 * (size_t)resample->width + VECTOR - 1) / VECTOR;
}

static size_t quads_of(const struct axis *axis)
{
	return (size_t)(axis->widest + GROUP - 1) / GROUP;
}

static struct layout layout_of(const struct resample *resample)
{
	struct layout layout = {0};
	size_t quads = quads_of(resample->x), all = vectors_of(resample) * quads;
	size_t pixels = (size_t)resample->width + VECTOR; /* those that all vectors begin */
	piece_after(&layout.bytes, sizeof(struct table));
	layout.quad = piece_after(&layout.bytes, all * sizeof(struct quad));
	layout.base = piece_after(&layout.bytes, all * sizeof(int32_t));
	layout.offsets = piece_after(&layout.bytes, pixels * sizeof(int32_t));
	layout.parts = piece_after(&layout.bytes, pixels * quads * 4 * sizeof(int32_t));
	layout.rows =
		piece_after(&layout.bytes, (quads_of(resample->y) + 1) * sizeof(struct row_quad));
	return layout;
}

static size_t avx512_table(const struct resample *resample)
{
	return layout_of(resample).bytes;
}

static size_t avx512_result(const struct resample *resample)
{
	return (3 * (size_t)resample->width + BLOCK - 1) / BLOCK * BLOCK;
}

static size_t avx512_line(const struct resample *resample)
{
	return GROUP * avx512_result(resample);
}

static struct table *table_init(const struct lines *lines)
{
	const struct layout layout = layout_of(lines->resample);
	struct table *table = table_of(lines);
	table->vectors = (int32_t)vectors_of(lines->resample);
	table->quads = (int32_t)quads_of(lines->resample->x);
	table->quad = (struct quad *)(void *)(lines->table + layout.quad);
	table->base = (int32_t *)(void *)(lines->table + layout.base);
	table->offsets = (int32_t *)(void *)(lines->table + layout.offsets);
	table->parts = (int32_t *)(void *)(lines->table + layout.parts);
	table->rows = (struct row_quad *)(void *)(lines->table + layout.rows);
	return table;
}

/* Pixels behind the last one repeat it; nobody reads them. */
static AVX512 void pixels_begin(const struct table *table, const struct resample *resample)
{
	int32_t widest = resample->x->widest, *parts = table->parts;
	for (int32_t x = 0; x < resample->width + VECTOR; x++) {
		int32_t at = x < resample->width ? x : resample->width - 1;
		const int32_t *weights = resample_weights(resample, at);
		table->offsets[x] = (int32_t)resample_column(resample, at);
		for (int32_t i = 0; i < widest; i += GROUP, parts += 4)
			_mm_storeu_si128((__m128i *)parts, weights_part(weights + i, widest - i));
	}
}

/* One vector's quads. False: their pixels are too far apart. */
static AVX512 bool vector_begin(const struct table *table, int32_t vector, int32_t widest)
{
	const __m512i count =
		_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
	__m512i byte = _mm512_add_epi32(_mm512_set1_epi32(vector % 3 * VECTOR), count);
	/* n / 3 for n below 48. */
	__m512i pixel = _mm512_srli_epi32(_mm512_mullo_epi32(byte, _mm512_set1_epi32(43)), 7);
	__m512i channel = _mm512_sub_epi32(byte, _mm512_mullo_epi32(pixel, _mm512_set1_epi32(3)));
	pixel = _mm512_add_epi32(pixel, _mm512_set1_epi32(vector / 3 * VECTOR));
	__m512i offset = _mm512_i32gather_epi32(pixel, table->offsets, 4);
	int32_t first = _mm512_reduce_min_epi32(offset), last = _mm512_reduce_max_epi32(offset);
	int32_t taps = widest < GROUP ? widest : GROUP;
	if (last - first + 3 * taps > REACH)
		return false;
	__m512i place =
		_mm512_add_epi32(_mm512_sub_epi32(offset, _mm512_set1_epi32(first)), channel);
	/* Places behind the last tap do not matter: their weight is 0. */
	__m512i places = _mm512_add_epi8(_mm512_mullo_epi32(place, _mm512_set1_epi32(0x01010101)),
					 _mm512_set1_epi32(0x09060300));
	for (int32_t i = 0; i < table->quads; i++) {
		struct quad *quad = &table->quad[vector * table->quads + i];
		__m512i part = _mm512_add_epi32(
			_mm512_mullo_epi32(pixel, _mm512_set1_epi32(4 * table->quads)),
			_mm512_set1_epi32(4 * i));
		table->base[vector * table->quads + i] = first + 3 * GROUP * i;
		quad->places = places;
		quad->low = _mm512_i32gather_epi32(part, table->parts, 4);
		quad->middle = _mm512_i32gather_epi32(part, table->parts + 1, 4);
		quad->high = _mm512_i32gather_epi32(part, table->parts + 2, 4);
	}
	return true;
}

static AVX512 bool avx512_begin(const struct lines *lines)
{
	struct table *table = table_init(lines);
	pixels_begin(table, lines->resample);
	for (int32_t i = 0; i < table->vectors; i++) {
		if (!vector_begin(table, i, lines->resample->x->widest))
			return false;
	}
	return true;
}

INLINE AVX512 void columns_sum(const struct quad *quads, const int32_t *base, int32_t count,
			       const uint8_t *const *rows, __m512i sums[4])
{
	struct parts parts[GROUP];
	if (count == 1) {
		for (int i = 0; i < GROUP; i++) {
			__m512i taps = _mm512_permutexvar_epi8(quads->places,
							       _mm512_loadu_si512(rows[i] + *base));
			sums[i] = parts_sum(taps, quads->low, quads->middle, quads->high);
		}
		return;
	}
	for (int i = 0; i < GROUP; i++)
		parts[i] = (struct parts){_mm512_setzero_si512(), _mm512_setzero_si512(),
					  _mm512_set1_epi32(ROUND)};
	for (int32_t n = 0; n < count; n++, quads++, base++) {
		for (int i = 0; i < GROUP; i++) {
			__m512i taps = _mm512_permutexvar_epi8(quads->places,
							       _mm512_loadu_si512(rows[i] + *base));
			parts_add(&parts[i], taps, quads->low, quads->middle, quads->high);
		}
	}
	for (int i = 0; i < GROUP; i++)
		sums[i] = parts_join(&parts[i]);
}

/* VECTOR bytes of four rows: to words, or, if `stride` is not 0, to rows so far apart. */
INLINE AVX512 void vector_store(const __m512i sums[4], uint8_t *out, size_t stride)
{
	const __m512i deal = _mm512_broadcast_i32x4(
		_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
	if (!stride) {
		_mm512_store_si512(out, _mm512_shuffle_epi8(sums_end(sums), deal));
		return;
	}
	__m512i rows = sums_end_turned(sums);
	_mm_store_si128((__m128i *)out, _mm512_castsi512_si128(rows));
	_mm_store_si128((__m128i *)(out + stride), _mm512_extracti32x4_epi32(rows, 1));
	_mm_store_si128((__m128i *)(out + 2 * stride), _mm512_extracti32x4_epi32(rows, 2));
	_mm_store_si128((__m128i *)(out + 3 * stride), _mm512_extracti32x4_epi32(rows, 3));
}

INLINE AVX512 void pass_columns(const struct table *table, const uint8_t *const *rows, uint8_t *out,
				size_t stride, int32_t quads)
{
	const uint8_t *const four[GROUP] = {rows[0], rows[1], rows[2], rows[3]};
	const size_t step = stride ? VECTOR : GROUP * VECTOR;
	for (int32_t i = 0; i < table->vectors; i++, out += step) {
		__m512i sums[GROUP];
		columns_sum(table->quad + i * quads, table->base + i * quads, quads, four, sums);
		vector_store(sums, out, stride);
	}
}

INLINE AVX512 void pass_columns_of(const struct table *table, const uint8_t *const *rows,
				   uint8_t *out, size_t stride)
{
	switch (table->quads) {
	case 1:
		pass_columns(table, rows, out, stride, 1);
		break;
	case 2:
		pass_columns(table, rows, out, stride, 2);
		break;
	default:
		pass_columns(table, rows, out, stride, table->quads);
		break;
	}
}

static AVX512 void avx512_columns(const struct lines *lines, const uint8_t *const *rows,
				  uint8_t *out)
{
	const struct table *table = table_of(lines);
	if (lines->resample->rows_first)
		pass_columns_of(table, rows, out, avx512_result(lines->resample));
	else
		pass_columns_of(table, rows, out, 0);
}

const struct resample_kernel resample_avx512 = {
	.group = GROUP,
	.line = avx512_line,
	.table = avx512_table,
	.result = avx512_result,
	.begin = avx512_begin,
	.columns = avx512_columns,
	.rows = resample_avx512_rows,
};
