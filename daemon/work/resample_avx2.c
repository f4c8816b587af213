// SPDX-License-Identifier: MIT
/*
 * For AVX2. A weight is taken apart into high * 2^11 + low, so that pmaddwd, which adds two
 * products of 16 bits, does two taps at a time and stays exact. Reads up to 16 bytes behind a row.
 */
#include <immintrin.h>
#include <string.h>

#include "work/resample_kernel.h"

#define AVX2 __attribute__((target("avx2")))
#define INLINE static inline __attribute__((always_inline))

#define GROUP 2	      /* rows */
#define PART 11	      /* bits of a weight's lower part */
#define BLOCK 8	      /* pixels of a row that are made together, where they lie far apart */
#define RESULT 32     /* bytes that are, otherwise, and in the second pass */
#define LANE 4	      /* bytes of it that each half of a register makes */
#define NEAR 9	      /* bytes between neighbours that one load still reaches */
#define PAIRS_FIXED 4 /* pairs of rows up to which the second pass has loops of their own */

/* Two taps of the second pass: rows, and the weights of both in the halves of a word. */
struct row_pair {
	const uint8_t *first, *second;
	int32_t low, high;
};

/*
 * The kernel's memory. The first pass has two ways. If neighbours are near, each half of a register
 * makes LANE bytes in a row, which are of two pixels: a load has a pair of taps of both. Vector i
 * of RESULT bytes makes bytes 4i to 4i + 3 and 16 + 4i to 16 + 4i + 3. If they are far, each half
 * makes one pixel: vector i of a block those of pixels i and i + 4, and a load has four taps.
 *
 * `weights` has for each vector (where neighbours are near: first where the bytes are) and each
 * pair of taps the lower parts, then the upper parts; `offsets` where the taps begin, two a vector.
 */
struct table {
	bool near;
	int32_t vectors, pairs;
	size_t stride; /* of one of a line's rows */
	__m256i *weights;
	uint32_t *offsets;
	int32_t *joined; /* of each pixel and each pair of taps, the lower and the upper parts */
	struct row_pair *rows;
};

struct layout {
	size_t weights, offsets, joined, rows, bytes;
};

static size_t avx2_stride(const struct resample *resample)
{
	/* A block of far pixels is stored as two halves of 12 bytes, each with 4 more behind it. */
	size_t bytes = 3 * ((size_t)resample->width + BLOCK) + RESULT;
	return bytes / RESULT * RESULT;
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

static struct table *table_of(const struct lines *lines)
{
	return (struct table *)(void *)lines->table;
}

static struct table *table_init(const struct lines *lines)
{
	const struct layout layout = layout_of(lines->resample);
	struct table *table = table_of(lines);
	table->pairs = (lines->resample->x->widest + 1) / 2;
	table->stride = avx2_stride(lines->resample);
	table->weights = (__m256i *)(void *)(lines->table + layout.weights);
	table->offsets = (uint32_t *)(void *)(lines->table + layout.offsets);
	table->joined = (int32_t *)(void *)(lines->table + layout.joined);
	table->rows = (struct row_pair *)(void *)(lines->table + layout.rows);
	return table;
}

static size_t avx2_result(const struct resample *resample)
{
	return (3 * (size_t)resample->width + RESULT - 1) / RESULT * RESULT;
}

static inline int32_t join(int32_t first, int32_t second)
{
	return (int32_t)((uint32_t)first & 0xffff) | (int32_t)((uint32_t)second << 16);
}

static inline int32_t join_low(int32_t first, int32_t second)
{
	return join(first & ((1 << PART) - 1), second & ((1 << PART) - 1));
}

static inline int32_t join_high(int32_t first, int32_t second)
{
	return join(first >> PART, second >> PART);
}

/* Pixels behind the last one are made like it, and nobody looks at them. */
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

/* Half `half` of vector `vector`, whose bytes begin with byte `first`. */
static AVX2 bool near_begin_lane(const struct table *table, const struct resample *resample,
				 int32_t vector, int32_t half, int32_t first)
{
	/* Which of the bytes are of the second pixel, and of which channel they are. */
	static const _Alignas(16)
		int32_t seconds[3][4] = {{0, 0, 0, -1}, {0, 0, -1, -1}, {0, -1, -1, -1}};
	static const _Alignas(16)
		int32_t channels[3][4] = {{0, 1, 2, 0}, {1, 2, 0, 1}, {2, 0, 1, 2}};
	int32_t x = pixel_at(resample, first / 3), next = pixel_at(resample, first / 3 + 1);
	int32_t at = (int32_t)resample_column(resample, x);
	int32_t at_next = (int32_t)resample_column(resample, next);
	int32_t base = at < at_next ? at : at_next;
	if (at - base > NEAR || at_next - base > NEAR)
		return false;
	const __m128i second = _mm_load_si128((const __m128i *)seconds[first % 3]);
	__m128i place =
		_mm_blendv_epi8(_mm_set1_epi32(at - base), _mm_set1_epi32(at_next - base), second);
	place = _mm_add_epi32(place, _mm_load_si128((const __m128i *)channels[first % 3]));
	/* Place, none, place + 3, none. */
	place = _mm_add_epi32(_mm_mullo_epi32(place, _mm_set1_epi32(0x10001)),
			      _mm_set1_epi32((int32_t)0x80038000));
	__m128i *out =
		(__m128i *)(table->weights + (size_t)vector * (size_t)(2 * table->pairs + 1)) +
		half;
	const int32_t *joined = table->joined + 2 * (size_t)x * (size_t)table->pairs;
	const int32_t *joined_next = table->joined + 2 * (size_t)next * (size_t)table->pairs;
	_mm_store_si128(out, place);
	for (int32_t i = 0; i < 2 * table->pairs; i++)
		_mm_store_si128(out + 2 + 2 * i,
				_mm_blendv_epi8(_mm_set1_epi32(joined[i]),
						_mm_set1_epi32(joined_next[i]), second));
	table->offsets[2 * vector + half] = (uint32_t)base;
	return true;
}

static bool near_begin(struct table *table, const struct resample *resample)
{
	table->vectors = (int32_t)(avx2_result(resample) / (2 * LANE));
	for (int32_t i = 0; i < table->vectors; i++) {
		int32_t first = i / 4 * RESULT + i % 4 * LANE;
		if (!near_begin_lane(table, resample, i, 0, first) ||
		    !near_begin_lane(table, resample, i, 1, first + RESULT / 2))
			return false;
	}
	return true;
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
	table->near = near_begin(table, lines->resample);
	if (!table->near)
		far_begin(table, lines->resample);
	return true;
}

/* Of four taps of two pixels, two taps as words: red, red, green, green, blue, blue, 0, 0. */
#define TAPS(a, b)                                                                                 \
	_mm256_broadcastsi128_si256(_mm_setr_epi8(a, -1, b, -1, a + 1, -1, b + 1, -1, a + 2, -1,   \
						  b + 2, -1, -1, -1, -1, -1))

INLINE AVX2 __m256i sums_end(__m256i low, __m256i high)
{
	return _mm256_srai_epi32(_mm256_add_epi32(low, _mm256_slli_epi32(high, PART)),
				 AXIS_PRECISION);
}

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

/* `vector` begins with the places, which are the same for each pair of taps. */
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

/* Both rows at once: what is loaded for one serves the other. */
INLINE AVX2 void near_columns(const struct table *table, const uint8_t *first,
			      const uint8_t *second, uint8_t *line, int32_t pairs)
{
	const __m256i *vector = table->weights;
	const uint32_t *offset = table->offsets;
	for (int32_t n = 0; n < table->vectors; n += 4, line += RESULT) {
		__m256i sums[2][4];
		for (int i = 0; i < 4; i++, vector += 1 + 2 * pairs, offset += 2) {
			sums[0][i] = near_sum(first + offset[0], first + offset[1], vector, pairs);
			sums[1][i] =
				near_sum(second + offset[0], second + offset[1], vector, pairs);
		}
		_mm256_storeu_si256((__m256i *)line, sums_pack(sums[0]));
		_mm256_storeu_si256((__m256i *)(line + table->stride), sums_pack(sums[1]));
	}
}

INLINE AVX2 void pass_columns(const struct table *table, const uint8_t *const *rows, uint8_t *line,
			      int32_t pairs)
{
	if (table->near) {
		near_columns(table, rows[0], rows[1], line, pairs);
		return;
	}
	far_columns(table, rows[0], line, pairs);
	far_columns(table, rows[1], line + table->stride, pairs);
}

static AVX2 void avx2_columns(const struct lines *lines, const uint8_t *const *rows, uint8_t *line)
{
	const struct table *table = table_of(lines);
	switch (table->pairs) {
	case 1:
		pass_columns(table, rows, line, 1);
		break;
	case 2:
		pass_columns(table, rows, line, 2);
		break;
	case 3:
		pass_columns(table, rows, line, 3);
		break;
	default:
		pass_columns(table, rows, line, table->pairs);
		break;
	}
}

/* The sums of 32 bytes: sums[i] has bytes 4i to 4i + 3 of either half. */
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

INLINE AVX2 void pass_rows(const struct row_pair *pairs, int32_t count, uint8_t *result,
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
		for (int i = 0; i < 4; i++)
			sums.low[i] = sums_end(sums.low[i], sums.high[i]);
		__m256i front = _mm256_packs_epi32(sums.low[0], sums.low[1]);
		__m256i back = _mm256_packs_epi32(sums.low[2], sums.low[3]);
		_mm256_storeu_si256((__m256i *)(result + at), _mm256_packus_epi16(front, back));
	}
}

/* Copied, for what is stored might lie over the pairs, as far as the compiler knows. */
INLINE AVX2 void pass_rows_fixed(const struct row_pair *pairs, int32_t count, uint8_t *result,
				 size_t bytes)
{
	struct row_pair fixed[PAIRS_FIXED];
	memcpy(fixed, pairs, (size_t)count * sizeof(*pairs));
	pass_rows(fixed, count, result, bytes);
}

static const uint8_t *row_at(const struct table *table, const struct lines *lines, int32_t row)
{
	return lines_at(lines, row / GROUP) + (size_t)(row % GROUP) * table->stride;
}

static int32_t rows_pair(const struct table *table, const struct lines *lines, struct span span,
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
	return (span.count + 1) / 2;
}

static AVX2 void avx2_rows(const struct lines *lines, struct span span, const int32_t *weights)
{
	size_t bytes = avx2_result(lines->resample);
	const struct table *table = table_of(lines);
	int32_t count = rows_pair(table, lines, span, weights);
	switch (count) {
	case 1:
		pass_rows_fixed(table->rows, 1, lines->result, bytes);
		break;
	case 2:
		pass_rows_fixed(table->rows, 2, lines->result, bytes);
		break;
	case 3:
		pass_rows_fixed(table->rows, 3, lines->result, bytes);
		break;
	default:
		pass_rows(table->rows, count, lines->result, bytes);
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
	.rows = avx2_rows,
};
