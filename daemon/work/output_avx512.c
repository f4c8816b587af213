// SPDX-License-Identifier: MIT
/*
 * For AVX-512 with VBMI: planes of 16-bit entries, 32 at a time, looked up in a table that is held
 * in eight registers. For the others there is nothing to gain over AVX2: memory is the limit. Reads
 * up to 61 bytes behind a row.
 */
#include <immintrin.h>

#include "work/output_kernel.h"

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")))
#define INLINE static inline __attribute__((always_inline))
#define VECTOR 32
#define LOADED 16 /* pixels that are looked for in one load */
#define WORDS 0x5555555555555555u

/* Of 32 pixels, one channel: which bytes of two loads become words. */
static AVX512 __m512i places_of(int channel)
{
	uint16_t places[VECTOR];
	for (int i = 0; i < VECTOR; i++)
		places[i] = (uint16_t)(i / LOADED * 64 + i % LOADED * 3 + channel);
	return _mm512_loadu_si512(places);
}

INLINE AVX512 __m512i look_up(const __m512i table[8], __m512i bytes)
{
	__mmask32 odd = _mm512_test_epi16_mask(bytes, _mm512_set1_epi16(64));
	__mmask32 upper = _mm512_test_epi16_mask(bytes, _mm512_set1_epi16(128));
	__m512i quarters[4];
	for (int i = 0; i < 4; i++)
		quarters[i] = _mm512_permutex2var_epi16(table[2 * i], bytes, table[2 * i + 1]);
	__m512i low = _mm512_mask_mov_epi16(quarters[0], odd, quarters[1]);
	__m512i high = _mm512_mask_mov_epi16(quarters[2], odd, quarters[3]);
	return _mm512_mask_mov_epi16(low, upper, high);
}

INLINE AVX512 __m512i channel_load(const uint8_t *row, size_t left, __m512i places)
{
	__m512i front = _mm512_loadu_si512(row);
	__m512i back = left > LOADED ? _mm512_loadu_si512(row + 3 * LOADED) : front;
	return _mm512_maskz_permutex2var_epi8(WORDS, front, places, back);
}

INLINE AVX512 void plane_row(const __m512i table[8], __m512i places, const uint8_t *row,
			     size_t width, bool stream, uint16_t *out)
{
	size_t x = 0;
	for (; x + VECTOR <= width; x += VECTOR) {
		__m512i entries = look_up(table, channel_load(row + 3 * x, VECTOR, places));
		if (stream)
			_mm512_stream_si512((void *)(out + x), entries);
		else
			_mm512_storeu_si512(out + x, entries);
	}
	if (x < width) {
		__mmask32 rest = (__mmask32)(((uint64_t)1 << (width - x)) - 1);
		__m512i bytes = channel_load(row + 3 * x, width - x, places);
		_mm512_mask_storeu_epi16(out + x, rest, look_up(table, bytes));
	}
}

static AVX512 void planes_half(const struct output *output, void *array, int32_t y,
			       const uint8_t *row)
{
	size_t width = (size_t)output->width, plane = width * (size_t)output->height;
	bool stream = output_streams(output, array);
	for (size_t c = 0; c < 3; c++) {
		uint16_t *out = (uint16_t *)array + c * plane + width * (size_t)y;
		__m512i table[8];
		for (int i = 0; i < 8; i++)
			table[i] = _mm512_loadu_si512(output->table.half[c] + VECTOR * i);
		plane_row(table, places_of((int)c), row, width, stream, out);
	}
}

output_row *output_avx512_row(const struct output *output)
{
	if (!output->planes || output->type == OUTPUT_UINT8 || output->type == OUTPUT_FLOAT32)
		return NULL;
	return planes_half;
}
