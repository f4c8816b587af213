// SPDX-License-Identifier: MIT
#include "transform/output.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "transform/kernels/output_kernel.h"

static uint32_t bits_of_float(float number)
{
	uint32_t bits;
	memcpy(&bits, &number, sizeof(bits));
	return bits;
}

/* `bits` without its lowest `drop` bits, rounded to nearest, ties to even. */
static uint32_t shift_even(uint32_t bits, unsigned drop)
{
	uint32_t odd = bits >> drop & 1u;
	return (bits + (1u << (drop - 1)) - 1u + odd) >> drop;
}

/* Numbers are finite: mean and std are bounded. */
static uint16_t bfloat16_of(float number)
{
	return (uint16_t)shift_even(bits_of_float(number), 16);
}

static uint16_t float16_of(float number)
{
	uint32_t bits = bits_of_float(number), sign = bits >> 16 & 0x8000u;
	uint32_t exponent = bits >> 23 & 0xffu, fraction = bits & 0x7fffffu;
	if (exponent >= 127 + 16) /* 65536 and above */
		return (uint16_t)(sign | 0x7c00u);
	if (exponent >= 127 - 14) /* rounding may carry into the exponent, up to infinity */
		return (uint16_t)(sign | shift_even((exponent - 112) << 23 | fraction, 13));
	if (exponent < 127 - 25)
		return (uint16_t)sign;
	return (uint16_t)(sign | shift_even(fraction | 0x800000u, 126 - exponent));
}

uint16_t output_half(enum output_type type, float number)
{
	return type == OUTPUT_FLOAT16 ? float16_of(number) : bfloat16_of(number);
}

static struct output_line line_of(float mean, float std)
{
	struct output_line line = {mean, (float)(1.0 / (double)std), 0.0f};
	line.rest = (float)(1.0 / (double)std - (double)line.inverse);
	return line;
}

/* As the kernels compute it, operation by operation. */
static float line_value(const struct output_line *line, float byte)
{
	float value = fmaf(byte, OUTPUT_UNIT, byte * OUTPUT_UNIT_REST) - line->mean;
	return fmaf(value, line->inverse, value * line->rest);
}

static void output_enter(struct output *output, int channel, int byte, float value)
{
	float lined = line_value(&output->line[channel], (float)byte);
	if (bits_of_float(lined) != bits_of_float(value))
		output->lined = false;
	if (output->type == OUTPUT_FLOAT32)
		output->table.single[channel][byte] = value;
	else if (output->type != OUTPUT_UINT8)
		output->table.half[channel][byte] = output_half(output->type, value);
}

void output_tabulate(struct output *output, const double *mean, const double *std)
{
	output->lined = true;
	for (int channel = 0; channel < 3; channel++) {
		float less = mean ? (float)mean[channel] : 0.0f;
		float by = mean ? (float)std[channel] : 1.0f;
		output->line[channel] = line_of(less, by);
		for (int byte = 0; byte < 256; byte++)
			output_enter(output, channel, byte, ((float)byte / 255.0f - less) / by);
	}
}

static void row_bytes(const struct output *output, uint8_t *array, int32_t y, const uint8_t *row)
{
	size_t width = (size_t)output->width, plane = width * (size_t)output->height;
	if (!output->planes) {
		memcpy(array + 3 * width * (size_t)y, row, 3 * width);
		return;
	}
	for (size_t channel = 0; channel < 3; channel++) {
		uint8_t *out = array + channel * plane + width * (size_t)y;
		for (size_t x = 0; x < width; x++)
			out[x] = row[3 * x + channel];
	}
}

/* Loops for entries of 16 and of 32 bits. */
#define ROW_THROUGH(name, type)                                                                    \
	static void name(const struct output *output, const type table[3][256], type *array,       \
			 int32_t y, const uint8_t *row)                                            \
	{                                                                                          \
		size_t width = (size_t)output->width, plane = width * (size_t)output->height;      \
		if (!output->planes) {                                                             \
			type *out = array + 3 * width * (size_t)y;                                 \
			for (size_t x = 0; x < width; x++, row += 3, out += 3) {                   \
				out[0] = table[0][row[0]];                                         \
				out[1] = table[1][row[1]];                                         \
				out[2] = table[2][row[2]];                                         \
			}                                                                          \
			return;                                                                    \
		}                                                                                  \
		type *out = array + width * (size_t)y;                                             \
		for (size_t x = 0; x < width; x++, row += 3) {                                     \
			out[x] = table[0][row[0]];                                                 \
			out[plane + x] = table[1][row[1]];                                         \
			out[2 * plane + x] = table[2][row[2]];                                     \
		}                                                                                  \
	}
ROW_THROUGH(row_halves, uint16_t)
ROW_THROUGH(row_singles, float)

/* One channel: planes and pixels are the same. */
static void row_gray(const struct output *output, void *array, int32_t y, const uint8_t *row)
{
	size_t width = (size_t)output->width, at = width * (size_t)y;
	for (size_t x = 0; x < width; x++, at++, row += 3) {
		if (output->type == OUTPUT_UINT8)
			((uint8_t *)array)[at] = *row;
		else if (output->type == OUTPUT_FLOAT32)
			((float *)array)[at] = output->table.single[0][*row];
		else
			((uint16_t *)array)[at] = output->table.half[0][*row];
	}
}

static void row_plain(const struct output *output, void *array, int32_t y, const uint8_t *row)
{
	switch (output->type) {
	case OUTPUT_UINT8:
		row_bytes(output, array, y, row);
		break;
	case OUTPUT_FLOAT32:
		row_singles(output, output->table.single, array, y, row);
		break;
	default:
		row_halves(output, output->table.half, array, y, row);
		break;
	}
}

#if defined(__x86_64__)

output_row *output_row_for(const struct output *output, enum cpu cpu)
{
	output_row *row = NULL;
	if (output->gray)
		return row_gray;
	if (cpu >= CPU_AVX512)
		row = output_avx512_row(output);
	if (!row && cpu >= CPU_AVX2)
		row = output_avx2_row(output);
	return row ? row : row_plain;
}

void output_end(enum cpu cpu)
{
	if (cpu >= CPU_AVX2)
		output_avx2_end();
}

#elif defined(__aarch64__)

output_row *output_row_for(const struct output *output, enum cpu cpu)
{
	output_row *row = NULL;
	if (output->gray)
		return row_gray;
	if (cpu >= CPU_NEON)
		row = output_neon_row(output);
	return row ? row : row_plain;
}

void output_end(enum cpu cpu)
{
	(void)cpu;
}

#else

output_row *output_row_for(const struct output *output, enum cpu cpu)
{
	(void)cpu;
	return output->gray ? row_gray : row_plain;
}

void output_end(enum cpu cpu)
{
	(void)cpu;
}

#endif
