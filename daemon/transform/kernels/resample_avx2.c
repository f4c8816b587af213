// SPDX-License-Identifier: MIT
/*
 * For AVX2. A weight is split into high * 2^11 + low, so that pmaddwd, which adds two products of
 * 16 bits, does two taps at a time and is exact. Reads up to 31 bytes behind a row.
 */
#include "transform/kernels/resample_avx2.h"

#define BLOCK 8 /* pixels of a row that are made together, if their sources are far apart */
#define LANE 4	/* bytes of RESULT that each half of a register makes */
#define LOAD 16 /* bytes that a load has for each half */

struct layout {
	size_t weights, offsets, joined, rows, bytes;
};

static size_t avx2_stride(const struct resample *resample)
{
	/* A block of far pixels is stored as two halves of 12 bytes, each with 4 more behind it. */
	size_t bytes = 3 * ((size_t)resample->width + BLOCK) + RESULT;
	return bytes / RESULT * RESULT;
}

static size_t avx2_result(const struct resample *resample)
{
	return (3 * (size_t)resample->width + RESULT - 1) / RESULT * RESULT;
}

static size_t avx2_row(const struct resample *resample)
{
	return (resample_row(resample) + RESULT - 1) / RESULT * RESULT;
}

static struct layout layout_of(const struct resample *resample)
{
	struct layout layout = {0};
	size_t pixels = (size_t)resample->width + 2 * BLOCK;
	size_t pairs = (size_t)(resample->x->widest + 1) / 2;
	size_t row_pairs = (size_t)(resample->y->widest + 1) / 2;
	piece_after(&layout.bytes, sizeof(struct table));
	layout.weights = piece_after(&layout.bytes, pixels * (pairs + 1) * sizeof(__m256i));
	layout.offsets = piece_after(&layout.bytes, pixels * sizeof(uint32_t));
	layout.joined = piece_after(&layout.bytes, pixels * pairs * 2 * sizeof(int32_t));
	layout.rows = piece_after(&layout.bytes, row_pairs * sizeof(struct row_pair));
	return layout;
}

static size_t avx2_table(const struct resample *resample)
{
	return layout_of(resample).bytes;
}

static size_t avx2_line(const struct resample *resample)
{
	return GROUP * avx2_stride(resample);
}

static struct table *table_init(const struct lines *lines)
{
	const struct layout layout = layout_of(lines->resample);
	struct table *table = table_of(lines);
	table->pairs = (lines->resample->x->widest + 1) / 2;
	table->stride = avx2_stride(lines->resample);
	table->bytes = avx2_row(lines->resample);
	table->weights = (__m256i *)(void *)(lines->table + layout.weights);
	table->offsets = (uint32_t *)(void *)(lines->table + layout.offsets);
	table->joined = (int32_t *)(void *)(lines->table + layout.joined);
	table->rows = (struct row_pair *)(void *)(lines->table + layout.rows);
	return table;
}

/* Pixels behind the last one repeat it; nobody reads them. */
static int32_t pixel_at(const struct resample *resample, int32_t x)
{
	return x < resample->width ? x : resample->width - 1;
}

static void pixels_join(const struct table *table, const struct resample *resample)
{
	int32_t widest = resample->x->widest, *joined = table->joined;
	for (int32_t x = 0; x < resample->width; x++) {
		const int32_t *weights = resample_weights(resample, x);
		for (int32_t i = 0; i < widest; i += 2, joined += 2) {
			int32_t second = i + 1 < widest ? weights[i + 1] : 0;
			joined[0] = join_low(weights[i], second);
			joined[1] = join_high(weights[i], second);
		}
	}
}

/* LANE bytes from byte `first` on, which belong to pixel `x` and the next one. */
struct lane {
	int32_t x, next;
	int32_t base; /* where their first taps begin, and relative to it: */
	__m128i place;
	__m128i second; /* which bytes belong to the next pixel */
	int32_t reach;	/* the last byte's first tap */
};

static AVX2 struct lane lane_of(const struct resample *resample, int32_t first)
{
	static const int32_t channels[3][4] = {{0, 1, 2, 0}, {1, 2, 0, 1}, {2, 0, 1, 2}};
	struct lane lane = {.x = pixel_at(resample, first / 3),
			    .next = pixel_at(resample, first / 3 + 1)};
	_Alignas(16) int32_t places[LANE], seconds[LANE];
	int32_t at[2] = {(int32_t)resample_column(resample, lane.x),
			 (int32_t)resample_column(resample, lane.next)};
	int32_t last = 0;
	lane.base = INT32_MAX;
	for (int i = 0; i < LANE; i++) {
		int second = first % 3 + i >= 3;
		seconds[i] = -second;
		places[i] = at[second] + channels[first % 3][i];
		lane.base = places[i] < lane.base ? places[i] : lane.base;
		last = places[i] > last ? places[i] : last;
	}
	lane.reach = last - lane.base;
	lane.second = _mm_load_si128((const __m128i *)seconds);
	lane.place =
		_mm_sub_epi32(_mm_load_si128((const __m128i *)places), _mm_set1_epi32(lane.base));
	return lane;
}

/* Selects for each byte by the pixel that it belongs to. */
INLINE AVX2 __m128i lane_choose(const struct lane *lane, int32_t first, int32_t second)
{
	return _mm_blendv_epi8(_mm_set1_epi32(first), _mm_set1_epi32(second), lane->second);
}

/* A tap and another one `apart` bytes behind it, as words: place, none, place + apart, none. */
INLINE AVX2 __m128i lane_taps(const struct lane *lane, int32_t from, int32_t apart)
{
	__m128i place = _mm_add_epi32(lane->place, _mm_set1_epi32(from));
	return _mm_add_epi32(_mm_mullo_epi32(place, _mm_set1_epi32(0x10001)),
			     _mm_set1_epi32((int32_t)(0x80008000u | (uint32_t)apart << 16)));
}

/* Half `half` of vector `vector`: the bytes from `first` on. */
static AVX2 int32_t lane_begin(const struct table *table, const struct resample *resample,
			       int32_t vector, int32_t half, int32_t first)
{
	const struct lane lane = lane_of(resample, first);
	const int32_t *joined = table->joined + 2 * (size_t)lane.x * (size_t)table->pairs;
	const int32_t *joined_next = table->joined + 2 * (size_t)lane.next * (size_t)table->pairs;
	size_t size = (size_t)(2 * table->pairs + 1);
	__m128i *out = (__m128i *)(table->weights + (size_t)vector * size) + half;
	_mm_store_si128(out, lane_taps(&lane, 0, 3));
	for (int32_t i = 0; i < 2 * table->pairs; i++)
		_mm_store_si128(out + 2 + 2 * i, lane_choose(&lane, joined[i], joined_next[i]));
	table->offsets[2 * vector + half] = (uint32_t)lane.base;
	if (!table->odd)
		return lane.reach;
	_mm_store_si128(out + 6, lane_taps(&lane, 6, 0));
	_mm_store_si128(out + 8,
			lane_choose(&lane, join_single(resample_weights(resample, lane.x)[2]),
				    join_single(resample_weights(resample, lane.next)[2])));
	return lane.reach;
}

static bool singles_fit(const struct resample *resample)
{
	for (int32_t x = 0; x < resample->width; x++) {
		if (!single_fits(resample_weights(resample, x)[2]))
			return false;
	}
	return true;
}

/* WAY_FAR: none of the others is possible. */
static enum way near_begin(struct table *table, const struct resample *resample)
{
	int32_t widest = resample->x->widest, reach = 0;
	table->odd = widest == 3 && singles_fit(resample);
	table->vectors = (int32_t)(avx2_result(resample) / (2 * LANE));
	for (int32_t i = 0; i < 2 * table->vectors; i++) {
		int32_t vector = i / 2, half = i % 2;
		int32_t first = vector / 4 * RESULT + vector % 4 * LANE + half * RESULT / 2;
		int32_t here = lane_begin(table, resample, vector, half, first);
		reach = here > reach ? here : reach;
		if (reach + 3 >= LOAD)
			return WAY_FAR;
	}
	if (table->odd)
		return reach + 6 < LOAD ? WAY_CLOSE_ODD : WAY_FAR;
	return widest == 4 && reach + 9 < LOAD ? WAY_CLOSE : WAY_NEAR;
}

static AVX2 void far_begin(struct table *table, const struct resample *resample)
{
	table->vectors = (resample->width + BLOCK - 1) / BLOCK * 4;
	for (int32_t i = 0; i < 2 * table->vectors; i++) {
		int32_t vector = i / 2, half = i % 2;
		int32_t x = pixel_at(resample, vector / 4 * BLOCK + vector % 4 + 4 * half);
		const int32_t *joined = table->joined + 2 * (size_t)x * (size_t)table->pairs;
		__m128i *out =
			(__m128i *)(table->weights + (size_t)vector * (size_t)(2 * table->pairs)) +
			half;
		table->offsets[i] = (uint32_t)resample_column(resample, x);
		for (int32_t n = 0; n < 2 * table->pairs; n++)
			_mm_store_si128(out + 2 * n, _mm_set1_epi32(joined[n]));
	}
}

static bool avx2_begin(const struct lines *lines)
{
	struct table *table = table_init(lines);
	pixels_join(table, lines->resample);
	table->way = near_begin(table, lines->resample);
	if (table->way == WAY_FAR)
		far_begin(table, lines->resample);
	return true;
}

/* Two of four taps of two pixels, as words: red, red, green, green, blue, blue, 0, 0. */
#define TAPS(a, b)                                                                                 \
	_mm256_broadcastsi128_si256(_mm_setr_epi8(a, -1, b, -1, a + 1, -1, b + 1, -1, a + 2, -1,   \
						  b + 2, -1, -1, -1, -1, -1))

INLINE AVX2 __m256i halves_load(const uint8_t *left, const uint8_t *right)
{
	return _mm256_inserti128_si256(
		_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)left)),
		_mm_loadu_si128((const __m128i *)right), 1);
}

/* The sums of two pixels, 32 bits a channel. */
INLINE AVX2 __m256i far_sum(const uint8_t *left, const uint8_t *right, const __m256i *weights,
			    int32_t pairs)
{
	const __m256i front = TAPS(0, 3), back = TAPS(6, 9);
	__m256i low = _mm256_set1_epi32(RESAMPLE_HALF), high = _mm256_setzero_si256();
	for (int32_t i = 0; i < pairs; i += 2, left += 12, right += 12) {
		__m256i pixels = halves_load(left, right);
		__m256i taps = _mm256_shuffle_epi8(pixels, front);
		low = _mm256_add_epi32(low, _mm256_madd_epi16(taps, *weights++));
		high = _mm256_add_epi32(high, _mm256_madd_epi16(taps, *weights++));
		if (i + 1 == pairs)
			break;
		taps = _mm256_shuffle_epi8(pixels, back);
		low = _mm256_add_epi32(low, _mm256_madd_epi16(taps, *weights++));
		high = _mm256_add_epi32(high, _mm256_madd_epi16(taps, *weights++));
	}
	return sums_end(low, high);
}

INLINE AVX2 __m256i sums_pack(const __m256i sums[4])
{
	return _mm256_packus_epi16(_mm256_packs_epi32(sums[0], sums[1]),
				   _mm256_packs_epi32(sums[2], sums[3]));
}

INLINE AVX2 void far_columns(const struct table *table, const uint8_t *row, uint8_t *line,
			     int32_t pairs)
{
	const __m256i close = _mm256_broadcastsi128_si256(
		_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
	const __m256i *weights = table->weights;
	const uint32_t *offset = table->offsets;
	for (int32_t n = 0; n < table->vectors; n += 4, line += 3 * BLOCK) {
		__m256i sums[4];
		for (int i = 0; i < 4; i++, weights += 2 * pairs, offset += 2)
			sums[i] = far_sum(row + offset[0], row + offset[1], weights, pairs);
		__m256i bytes = _mm256_shuffle_epi8(sums_pack(sums), close);
		_mm_storeu_si128((__m128i *)line, _mm256_castsi256_si128(bytes));
		_mm_storeu_si128((__m128i *)(line + 12), _mm256_extracti128_si256(bytes, 1));
	}
}

/* `vector` begins with the positions, which are the same for each pair of taps. */
INLINE AVX2 __m256i near_sum(const uint8_t *left, const uint8_t *right, const __m256i *vector,
			     int32_t pairs)
{
	__m256i low = _mm256_set1_epi32(RESAMPLE_HALF), high = _mm256_setzero_si256();
	for (int32_t i = 0; i < pairs; i++) {
		__m256i taps =
			_mm256_shuffle_epi8(halves_load(left + 6 * i, right + 6 * i), vector[0]);
		low = _mm256_add_epi32(low, _mm256_madd_epi16(taps, vector[1 + 2 * i]));
		high = _mm256_add_epi32(high, _mm256_madd_epi16(taps, vector[2 + 2 * i]));
	}
	return sums_end(low, high);
}

INLINE AVX2 __m256i close_sum(const uint8_t *left, const uint8_t *right, const __m256i *vector)
{
	__m256i pixels = halves_load(left, right);
	__m256i front = _mm256_shuffle_epi8(pixels, vector[0]);
	__m256i back = _mm256_shuffle_epi8(
		pixels, _mm256_add_epi32(vector[0], _mm256_set1_epi32(0x00060006)));
	__m256i low = _mm256_add_epi32(_mm256_madd_epi16(front, vector[1]),
				       _mm256_madd_epi16(back, vector[3]));
	__m256i high = _mm256_add_epi32(_mm256_madd_epi16(front, vector[2]),
					_mm256_madd_epi16(back, vector[4]));
	return sums_end(_mm256_add_epi32(low, _mm256_set1_epi32(RESAMPLE_HALF)), high);
}

INLINE AVX2 __m256i close_sum_odd(const uint8_t *left, const uint8_t *right, const __m256i *vector)
{
	__m256i pixels = halves_load(left, right);
	__m256i front = _mm256_shuffle_epi8(pixels, vector[0]);
	__m256i back = _mm256_shuffle_epi8(pixels, vector[3]);
	back = _mm256_mullo_epi16(back, _mm256_set1_epi32(1 << (SINGLE + 16) | 1));
	__m256i low = _mm256_add_epi32(_mm256_madd_epi16(front, vector[1]),
				       _mm256_madd_epi16(back, vector[4]));
	__m256i high = _mm256_madd_epi16(front, vector[2]);
	return sums_end(_mm256_add_epi32(low, _mm256_set1_epi32(RESAMPLE_HALF)), high);
}

INLINE AVX2 __m256i way_sum(enum way way, const uint8_t *row, const uint32_t *offset,
			    const __m256i *vector, int32_t pairs)
{
	const uint8_t *left = row + offset[0], *right = row + offset[1];
	if (way == WAY_CLOSE)
		return close_sum(left, right, vector);
	if (way == WAY_CLOSE_ODD)
		return close_sum_odd(left, right, vector);
	return near_sum(left, right, vector, pairs);
}

/* Both rows at once: weights are loaded once for both. */
INLINE AVX2 void near_columns(const struct table *table, enum way way, const uint8_t *const *rows,
			      uint8_t *line, int32_t pairs)
{
	const __m256i *vector = table->weights;
	const uint32_t *offset = table->offsets;
	const uint8_t *first = rows[0], *second = rows[1];
	for (int32_t n = 0; n < table->vectors; n += 4, line += RESULT) {
		__m256i sums[2][4];
		for (int i = 0; i < 4; i++, vector += 1 + 2 * pairs, offset += 2) {
			sums[0][i] = way_sum(way, first, offset, vector, pairs);
			sums[1][i] = way_sum(way, second, offset, vector, pairs);
		}
		_mm256_storeu_si256((__m256i *)line, sums_pack(sums[0]));
		_mm256_storeu_si256((__m256i *)(line + table->stride), sums_pack(sums[1]));
	}
}

INLINE AVX2 void pass_columns(const struct table *table, const uint8_t *const *rows, uint8_t *line,
			      int32_t pairs)
{
	if (table->way == WAY_NEAR) {
		near_columns(table, WAY_NEAR, rows, line, pairs);
		return;
	}
	far_columns(table, rows[0], line, pairs);
	far_columns(table, rows[1], line + table->stride, pairs);
}

static AVX2 void avx2_columns(const struct lines *lines, const uint8_t *const *rows, uint8_t *out)
{
	const struct table *table = table_of(lines);
	if (table->way == WAY_CLOSE) {
		near_columns(table, WAY_CLOSE, rows, out, 2);
		return;
	}
	if (table->way == WAY_CLOSE_ODD) {
		near_columns(table, WAY_CLOSE_ODD, rows, out, 2);
		return;
	}
	switch (table->pairs) {
	case 1:
		pass_columns(table, rows, out, 1);
		break;
	case 2:
		pass_columns(table, rows, out, 2);
		break;
	case 3:
		pass_columns(table, rows, out, 3);
		break;
	default:
		pass_columns(table, rows, out, table->pairs);
		break;
	}
}

const struct resample_kernel resample_avx2 = {
	.group = GROUP,
	.line = avx2_line,
	.table = avx2_table,
	.result = avx2_result,
	.begin = avx2_begin,
	.columns = avx2_columns,
	.rows = resample_avx2_rows,
};
