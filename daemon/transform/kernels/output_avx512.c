// SPDX-License-Identifier: MIT
/*
 * For AVX-512 with VBMI: planes of 16-bit entries, 32 at a time, looked up in a table in eight
 * registers; planes of floats, 16 at a time, computed as for AVX2, but each store is a whole cache
 * line. For other outputs there is nothing to gain over AVX2: memory is the limit. Reads up to 61
 * bytes behind a row.
 */
#include <immintrin.h>

#include "transform/kernels/output_kernel.h"

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")))
#define INLINE static inline __attribute__((always_inline))
#define VECTOR 32
#define LOADED 16 /* pixels that are taken from one load */
#define WORDS 0x5555555555555555u

/* One channel of 32 pixels: which bytes of two loads become words. */
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

/* One channel of 16 pixels: which bytes of a load become words of 32 bits. */
static AVX512 __m512i quads_of(int channel)
{
	uint32_t places[LOADED];
	for (int i = 0; i < LOADED; i++)
		places[i] = (uint32_t)(i * 3 + channel);
	return _mm512_loadu_si512(places);
}

struct channel {
	__m512 mean, inverse, rest;
	__m512i places;
};

INLINE AVX512 __m512 channel_value(const struct channel *channel, __m512i pixels)
{
	const __mmask64 low = 0x1111111111111111u;
	__m512i bytes = _mm512_maskz_permutexvar_epi8(low, channel->places, pixels);
	__m512 value = _mm512_cvtepi32_ps(bytes);
	value = _mm512_fmadd_ps(value, _mm512_set1_ps(OUTPUT_UNIT),
				_mm512_mul_ps(value, _mm512_set1_ps(OUTPUT_UNIT_REST)));
	value = _mm512_sub_ps(value, channel->mean);
	return _mm512_fmadd_ps(value, channel->inverse, _mm512_mul_ps(value, channel->rest));
}

INLINE AVX512 void plane_put(float *out, bool stream, size_t left, __m512 values)
{
	if (left < LOADED)
		_mm512_mask_storeu_ps(out, (__mmask16)((1u << left) - 1), values);
	else if (stream)
		_mm512_stream_ps(out, values);
	else
		_mm512_storeu_ps(out, values);
}

INLINE AVX512 void planes_write(const struct channel channels[3], size_t width, size_t plane,
				bool stream, const uint8_t *row, float *out)
{
	for (size_t x = 0; x < width; x += LOADED) {
		__m512i pixels = _mm512_loadu_si512(row + 3 * x);
		for (size_t c = 0; c < 3; c++)
			plane_put(out + c * plane + x, stream, width - x,
				  channel_value(&channels[c], pixels));
	}
}

static AVX512 void planes_single(const struct output *output, void *array, int32_t y,
				 const uint8_t *row)
{
	size_t width = (size_t)output->width, plane = width * (size_t)output->height;
	float *out = (float *)array + width * (size_t)y;
	struct channel channels[3];
	for (int c = 0; c < 3; c++) {
		const struct output_line *line = &output->line[c];
		channels[c] =
			(struct channel){_mm512_set1_ps(line->mean), _mm512_set1_ps(line->inverse),
					 _mm512_set1_ps(line->rest), quads_of(c)};
	}
	if (output_streams(output, array))
		planes_write(channels, width, plane, true, row, out);
	else
		planes_write(channels, width, plane, false, row, out);
}

output_row *output_avx512_row(const struct output *output)
{
	if (!output->planes || output->type == OUTPUT_UINT8)
		return NULL;
	if (output->type == OUTPUT_FLOAT32)
		return output->lined ? planes_single : NULL;
	return planes_half;
}
