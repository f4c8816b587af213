// SPDX-License-Identifier: MIT
/*
 * For AVX-512 with VBMI, VBMI2 and VNNI. A weight is split into three signed bytes, so that
 * vpdpbusd, which adds four products of bytes, does four taps at a time and is exact. Four rows go
 * through the pass along x together: each word of 32 bits of a line has one byte of each of them,
 * as vpdpbusd needs them in the pass along y. If that comes first, it joins rows of the picture to
 * such words itself. Reads up to 63 bytes behind a row.
 */
#include <immintrin.h>
#include <string.h>

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

static size_t avx512_row(const struct resample *resample)
{
	return (resample_row(resample) + BLOCK - 1) / BLOCK * BLOCK;
}

static size_t avx512_line(const struct resample *resample)
{
	return GROUP * avx512_result(resample);
}

static struct table *table_of(const struct lines *lines)
{
	return (struct table *)(void *)lines->table;
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

/* Up to four weights to three words: their low, middle and high bytes, all signed. */
INLINE AVX512 __m128i weights_part(const int32_t *weights, int32_t count)
{
	const __m128i carry = _mm_set1_epi32(0x808080);
	const __m128i deal = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
	__mmask8 there = count < GROUP ? (__mmask8)((1 << count) - 1) : 0xf;
	__m128i four = _mm_maskz_loadu_epi32(there, weights);
	return _mm_shuffle_epi8(_mm_xor_si128(_mm_add_epi32(four, carry), carry), deal);
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

/* The same for four taps only. */
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

/* The same, the first quarter of all quarters first, then the second, ... */
INLINE AVX512 __m512i sums_end_turned(const __m512i sums[4])
{
	const __m512i order =
		_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
	return _mm512_permutexvar_epi32(order, sums_end(sums));
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

static AVX512 void avx512_rows(const struct lines *lines, struct span span, const int32_t *weights,
			       uint8_t *out)
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

const struct resample_kernel resample_avx512 = {
	.group = GROUP,
	.line = avx512_line,
	.table = avx512_table,
	.result = avx512_result,
	.begin = avx512_begin,
	.columns = avx512_columns,
	.rows = avx512_rows,
};
