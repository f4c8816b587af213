// SPDX-License-Identifier: MIT
#include "transform/wide/wide_output.h"

#include <math.h>
#include <stddef.h>

void wide_output_normalize(struct output *output, const double *mean, const double *std)
{
	output->table.wide.normalized = mean != NULL;
	for (int c = 0; c < 3 && mean; c++) {
		output->table.wide.mean[c] = (float)mean[c];
		output->table.wide.std[c] = (float)std[c];
	}
}

static float value_of(const struct output *output, const uint8_t *row, size_t at, uint32_t channel)
{
	const uint32_t c = output->form.channels == 3 ? channel : 0;
	const float value = output->form.type == IMAGE_UINT16
				    ? (float)((const uint16_t *)(const void *)row)[at] / 65535.0f
				    : ((const float *)(const void *)row)[at];
	return output->table.wide.normalized
		       ? (value - output->table.wide.mean[c]) / output->table.wide.std[c]
		       : value;
}

/* output_half() is for numbers. */
static uint16_t half_of(enum output_type type, float value)
{
	if (isnan(value))
		return type == OUTPUT_FLOAT16 ? 0x7e00 : 0x7fc0;
	return output_half(type, value);
}

void wide_output_row(const struct output *output, void *array, int32_t y, const uint8_t *row)
{
	const size_t width = (size_t)output->width, channels = output->form.channels;
	const size_t plane = width * (size_t)output->height;
	for (uint32_t c = 0; c < channels; c++) {
		size_t out = output->planes ? c * plane + width * (size_t)y
					    : width * channels * (size_t)y + c;
		for (size_t at = c; at < width * channels; at += channels) {
			if (output->type == OUTPUT_UINT16)
				((uint16_t *)array)[out] =
					((const uint16_t *)(const void *)row)[at];
			else if (output->type == OUTPUT_FLOAT32)
				((float *)array)[out] = value_of(output, row, at, c);
			else
				((uint16_t *)array)[out] =
					half_of(output->type, value_of(output, row, at, c));
			out += output->planes ? 1 : channels;
		}
	}
}
