// SPDX-License-Identifier: MIT
/*
 * For NEON: 16 pixels at a time, computed instead of looked up, where that gives the table's values
 * (struct output_line). Reads nothing behind a row.
 */
#include "transform/kernels/neon.h"
#include "transform/kernels/output_kernel.h"

#define STEP 16 /* values */

struct channel {
	float32x4_t mean, inverse, rest;
};

INLINE float32x4_t channel_value(const struct channel *channel, uint32x4_t bytes)
{
	float32x4_t value = vcvtq_f32_u32(bytes);
	value = vfmaq_n_f32(vmulq_n_f32(value, OUTPUT_UNIT_REST), value, OUTPUT_UNIT);
	value = vsubq_f32(value, channel->mean);
	return vfmaq_f32(vmulq_f32(value, channel->rest), value, channel->inverse);
}

/* Finite numbers only; to nearest, ties to even. */
INLINE uint16x4_t bfloat16_of(float32x4_t value)
{
	uint32x4_t bits = vreinterpretq_u32_f32(value);
	uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
	return vaddhn_u32(vaddq_u32(bits, vdupq_n_u32(0x7fff)), odd);
}

INLINE uint16x4_t half_of(enum output_type type, float32x4_t value)
{
	return type == OUTPUT_BFLOAT16 ? bfloat16_of(value)
				       : vreinterpret_u16_f16(vcvt_f16_f32(value));
}

/* Store STEP values from entry `at` of an array on: those of bytes 4i to 4i + 3 are of channel
 * i % `period`. */
INLINE void put(enum output_type type, void *array, size_t at, uint8x16_t bytes,
		const struct channel *channels, int first, int period)
{
	for (int i = 0; i < 4; i++) {
		float32x4_t value = channel_value(&channels[(first + i) % period],
						  bytes_widen(bytes, (uint8_t)i));
		size_t entry = at + 4 * (size_t)i;
		if (type == OUTPUT_FLOAT32)
			vst1q_f32((float *)array + entry, value);
		else
			vst1_u16((uint16_t *)array + entry, half_of(type, value));
	}
}

INLINE void put_one(const struct output *output, enum output_type type, void *array, size_t at,
		    size_t channel, uint8_t byte)
{
	if (type == OUTPUT_FLOAT32)
		((float *)array)[at] = output->table.single[channel][byte];
	else
		((uint16_t *)array)[at] = output->table.half[channel][byte];
}

INLINE void planes_write(const struct output *output, enum output_type type, void *array, int32_t y,
			 const uint8_t *row)
{
	size_t width = (size_t)output->width, plane = width * (size_t)output->height;
	size_t at = width * (size_t)y, x = 0;
	struct channel channels[3];
	for (int c = 0; c < 3; c++) {
		const struct output_line *line = &output->line[c];
		channels[c] = (struct channel){vdupq_n_f32(line->mean), vdupq_n_f32(line->inverse),
					       vdupq_n_f32(line->rest)};
	}
	for (; x + STEP <= width; x += STEP) {
		const uint8x16x3_t pixels = vld3q_u8(row + 3 * x);
		for (size_t c = 0; c < 3; c++)
			put(type, array, c * plane + at + x, pixels.val[c], &channels[c], 0, 1);
	}
	for (; x < width; x++) {
		for (size_t c = 0; c < 3; c++)
			put_one(output, type, array, c * plane + at + x, c, row[3 * x + c]);
	}
}

/* Pixel by pixel: the channels repeat after three registers. */
INLINE void pixels_write(const struct output *output, enum output_type type, void *array, int32_t y,
			 const uint8_t *row)
{
	size_t count = 3 * (size_t)output->width, at = count * (size_t)y, i = 0;
	struct channel channels[3];
	for (int n = 0; n < 3; n++) {
		for (int lane = 0; lane < 4; lane++) {
			const struct output_line *line = &output->line[(4 * n + lane) % 3];
			channels[n].mean[lane] = line->mean;
			channels[n].inverse[lane] = line->inverse;
			channels[n].rest[lane] = line->rest;
		}
	}
	for (; i + 3 * STEP <= count; i += 3 * STEP) {
		for (size_t n = 0; n < 3; n++)
			put(type, array, at + i + STEP * n, vld1q_u8(row + i + STEP * n), channels,
			    (int)(4 * n), 3);
	}
	for (; i < count; i++)
		put_one(output, type, array, at + i, i % 3, row[i]);
}

#define ROW(name, write, type)                                                                     \
	static void name(const struct output *output, void *array, int32_t y, const uint8_t *row)  \
	{                                                                                          \
		write(output, type, array, y, row);                                                \
	}
ROW(planes_half, planes_write, OUTPUT_FLOAT16)
ROW(planes_brain, planes_write, OUTPUT_BFLOAT16)
ROW(planes_single, planes_write, OUTPUT_FLOAT32)
ROW(pixels_half, pixels_write, OUTPUT_FLOAT16)
ROW(pixels_brain, pixels_write, OUTPUT_BFLOAT16)
ROW(pixels_single, pixels_write, OUTPUT_FLOAT32)

static void planes_byte(const struct output *output, void *array, int32_t y, const uint8_t *row)
{
	size_t width = (size_t)output->width, plane = width * (size_t)output->height, x = 0;
	uint8_t *out = (uint8_t *)array + width * (size_t)y;
	for (; x + STEP <= width; x += STEP) {
		const uint8x16x3_t pixels = vld3q_u8(row + 3 * x);
		for (size_t c = 0; c < 3; c++)
			vst1q_u8(out + c * plane + x, pixels.val[c]);
	}
	for (; x < width; x++) {
		for (size_t c = 0; c < 3; c++)
			out[c * plane + x] = row[3 * x + c];
	}
}

output_row *output_neon_row(const struct output *output)
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
