// SPDX-License-Identifier: MIT
/*
 * For AVX2, FMA and F16C: eight values at a time, computed instead of looked up, where that gives
 * the table's values (struct output_line). A row of whole cache lines is written by streaming
 * stores: nobody reads the array on this core, and fetching a line only to overwrite it doubles the
 * cost.
 */
#include <immintrin.h>

#include "transform/kernels/output_kernel.h"

#define AVX2 __attribute__((target("avx2,fma,f16c")))
#define INLINE static inline __attribute__((always_inline))

struct channel {
	__m256 mean, inverse, rest;
};

INLINE AVX2 __m256 channel_value(const struct channel *channel, __m256i bytes)
{
	__m256 value = _mm256_cvtepi32_ps(bytes);
	value = _mm256_fmadd_ps(value, _mm256_set1_ps(OUTPUT_UNIT),
				_mm256_mul_ps(value, _mm256_set1_ps(OUTPUT_UNIT_REST)));
	value = _mm256_sub_ps(value, channel->mean);
	return _mm256_fmadd_ps(value, channel->inverse, _mm256_mul_ps(value, channel->rest));
}

/* Finite numbers only; to nearest, ties to even. */
INLINE AVX2 __m128i bfloat16_of(__m256 value)
{
	__m256i bits = _mm256_castps_si256(value);
	__m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
	bits = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
	bits = _mm256_srli_epi32(bits, 16);
	bits = _mm256_permute4x64_epi64(_mm256_packus_epi32(bits, bits), 0x08);
	return _mm256_castsi256_si128(bits);
}

/* Store eight values from entry `at` of an array on. */
INLINE AVX2 void put(enum output_type type, bool stream, void *array, size_t at, __m256 value)
{
	if (type == OUTPUT_FLOAT32) {
		float *out = (float *)array + at;
		if (stream)
			_mm256_stream_ps(out, value);
		else
			_mm256_storeu_ps(out, value);
		return;
	}
	__m128i *out = (__m128i *)(void *)((uint16_t *)array + at);
	__m128i half = type == OUTPUT_BFLOAT16 ? bfloat16_of(value)
					       : _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT);
	if (stream)
		_mm_stream_si128(out, half);
	else
		_mm_storeu_si128(out, half);
}

INLINE AVX2 void put_one(const struct output *output, enum output_type type, void *array, size_t at,
			 int channel, uint8_t byte)
{
	if (type == OUTPUT_FLOAT32)
		((float *)array)[at] = output->table.single[channel][byte];
	else
		((uint16_t *)array)[at] = output->table.half[channel][byte];
}

/* One channel of eight pixels, 12 bytes in each half, as words of 32 bits. */
#define CHANNEL(c)                                                                                 \
	_mm256_broadcastsi128_si256(_mm_setr_epi8(c, -1, -1, -1, c + 3, -1, -1, -1, c + 6, -1, -1, \
						  -1, c + 9, -1, -1, -1))

INLINE AVX2 __m256i pixels_load(const uint8_t *row)
{
	return _mm256_inserti128_si256(
		_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)row)),
		_mm_loadu_si128((const __m128i *)(row + 12)), 1);
}

INLINE AVX2 void planes_write(const struct output *output, enum output_type type, bool stream,
			      void *array, int32_t y, const uint8_t *row)
{
	const __m256i shuffles[3] = {CHANNEL(0), CHANNEL(1), CHANNEL(2)};
	size_t width = (size_t)output->width, plane = width * (size_t)output->height;
	size_t at = width * (size_t)y, x = 0;
	struct channel channels[3];
	for (int c = 0; c < 3; c++) {
		const struct output_line *line = &output->line[c];
		channels[c] =
			(struct channel){_mm256_set1_ps(line->mean), _mm256_set1_ps(line->inverse),
					 _mm256_set1_ps(line->rest)};
	}
	for (; x + 8 <= width; x += 8) {
		__m256i pixels = pixels_load(row + 3 * x);
		for (size_t c = 0; c < 3; c++) {
			__m256i bytes = _mm256_shuffle_epi8(pixels, shuffles[c]);
			put(type, stream, array, c * plane + at + x,
			    channel_value(&channels[c], bytes));
		}
	}
	for (; x < width; x++) {
		for (int c = 0; c < 3; c++)
			put_one(output, type, array, (size_t)c * plane + at + x, c,
				row[3 * x + (size_t)c]);
	}
}

/* Pixel by pixel: the channels repeat after 24 values. */
INLINE AVX2 void pixels_write(const struct output *output, enum output_type type, bool stream,
			      void *array, int32_t y, const uint8_t *row)
{
	size_t count = 3 * (size_t)output->width, at = count * (size_t)y, i = 0;
	float mean[24], inverse[24], rest[24];
	struct channel channels[3];
	for (int n = 0; n < 24; n++) {
		mean[n] = output->line[n % 3].mean;
		inverse[n] = output->line[n % 3].inverse;
		rest[n] = output->line[n % 3].rest;
	}
	for (int n = 0; n < 3; n++)
		channels[n] = (struct channel){_mm256_loadu_ps(mean + 8 * n),
					       _mm256_loadu_ps(inverse + 8 * n),
					       _mm256_loadu_ps(rest + 8 * n)};
	for (; i + 24 <= count; i += 24) {
		for (size_t n = 0; n < 3; n++) {
			__m128i bytes = _mm_loadl_epi64((const __m128i *)(row + i + 8 * n));
			put(type, stream, array, at + i + 8 * n,
			    channel_value(&channels[n], _mm256_cvtepu8_epi32(bytes)));
		}
	}
	for (; i < count; i++)
		put_one(output, type, array, at + i, (int)(i % 3), row[i]);
}

#define ROW(name, write, type)                                                                     \
	static AVX2 void name(const struct output *output, void *array, int32_t y,                 \
			      const uint8_t *row)                                                  \
	{                                                                                          \
		if (output_streams(output, array))                                                 \
			write(output, type, true, array, y, row);                                  \
		else                                                                               \
			write(output, type, false, array, y, row);                                 \
	}
ROW(planes_half, planes_write, OUTPUT_FLOAT16)
ROW(planes_brain, planes_write, OUTPUT_BFLOAT16)
ROW(planes_single, planes_write, OUTPUT_FLOAT32)
ROW(pixels_half, pixels_write, OUTPUT_FLOAT16)
ROW(pixels_brain, pixels_write, OUTPUT_BFLOAT16)
ROW(pixels_single, pixels_write, OUTPUT_FLOAT32)

/* The bytes of eight pixels by channel: four red, four green, four blue, in each half. */
static AVX2 void planes_byte(const struct output *output, void *array, int32_t y,
			     const uint8_t *row)
{
	const __m256i part = _mm256_broadcastsi128_si256(
		_mm_setr_epi8(0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11, -1, -1, -1, -1));
	const __m256i pair = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
	size_t width = (size_t)output->width, plane = width * (size_t)output->height, x = 0;
	uint8_t *out = (uint8_t *)array + width * (size_t)y;
	for (; x + 8 <= width; x += 8) {
		__m256i pixels = _mm256_shuffle_epi8(pixels_load(row + 3 * x), part);
		pixels = _mm256_permutevar8x32_epi32(pixels, pair);
		__m128i front = _mm256_castsi256_si128(pixels);
		_mm_storel_epi64((__m128i *)(out + x), front);
		_mm_storel_epi64((__m128i *)(out + plane + x), _mm_unpackhi_epi64(front, front));
		_mm_storel_epi64((__m128i *)(out + 2 * plane + x),
				 _mm256_extracti128_si256(pixels, 1));
	}
	for (; x < width; x++) {
		for (size_t c = 0; c < 3; c++)
			out[c * plane + x] = row[3 * x + c];
	}
}

output_row *output_avx2_row(const struct output *output)
{
	static output_row *const planes[] = {
		[OUTPUT_FLOAT16] = planes_half,
		[OUTPUT_BFLOAT16] = planes_brain,
		[OUTPUT_FLOAT32] = planes_single,
	};
	static output_row *const pixels[] = {
		[OUTPUT_FLOAT16] = pixels_half,
		[OUTPUT_BFLOAT16] = pixels_brain,
		[OUTPUT_FLOAT32] = pixels_single,
	};
	if (output->type == OUTPUT_UINT8)
		return output->planes ? planes_byte : NULL;
	if (!output->lined)
		return NULL;
	return output->planes ? planes[output->type] : pixels[output->type];
}

/* Streaming stores are not ordered: the fence puts them before later stores that announce them. */
void output_avx2_end(void)
{
	_mm_sfence();
}
