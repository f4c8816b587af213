// SPDX-License-Identifier: MIT
#include "transform/colour.h"

#include <string.h>

#define CHANNELS COLOUR_CHANNELS

int paint_tables(const struct paint *paint, const struct colour_tables *tables)
{
	for (int32_t y = 0; y < paint->wanted.height; y++) {
		const uint8_t *row = paint_row(paint, y);
		uint8_t *out = paint_out(paint, y);
		for (size_t i = 0; i < paint->bytes; i += CHANNELS)
			for (size_t c = 0; c < CHANNELS; c++)
				out[i + c] = tables->of[c][row[i + c]];
	}
	return 0;
}

int paint_values(const struct paint *paint, uint8_t (*value_of)(int value, double amount))
{
	struct colour_tables tables;
	for (int value = 0; value < 256; value++)
		tables.of[0][value] = value_of(value, paint->colour->amount[0]);
	for (int c = 1; c < CHANNELS; c++)
		memcpy(tables.of[c], tables.of[0], sizeof(tables.of[0]));
	return paint_tables(paint, &tables);
}

int paint_histograms(const struct paint *paint,
		     void (*table_of)(uint8_t *table, const uint64_t *count))
{
	const struct image *image = paint->image;
	uint64_t count[CHANNELS][256] = {{0}};
	struct colour_tables tables;
	for (int32_t y = 0; y < image->height; y++) {
		const uint8_t *row = paint_pixel(paint, 0, y);
		for (size_t x = 0; x < (size_t)image->width; x++)
			for (size_t c = 0; c < CHANNELS; c++)
				count[c][row[CHANNELS * x + c]]++;
	}
	for (int c = 0; c < CHANNELS; c++)
		table_of(tables.of[c], count[c]);
	return paint_tables(paint, &tables);
}

/* By way of two rows of scratch, for the rows of the loops must not overlap. */
int paint_gray(const struct paint *paint, double amount)
{
	uint8_t *gray = paint->scratch->data, *made = gray + paint->bytes;
	for (int32_t y = 0; y < paint->wanted.height; y++) {
		const uint8_t *row = paint_row(paint, y);
		paint->rows->gray(gray, row, paint->bytes / CHANNELS);
		paint->rows->blend(made, gray, row, (float)amount, paint->bytes);
		memcpy(paint_out(paint, y), made, paint->bytes);
	}
	return 0;
}

int colour_run(const struct colour *colour, const struct image *image, struct rect wanted,
	       uint8_t *out, size_t stride, enum cpu cpu, struct buffer *scratch,
	       struct cancel *cancel)
{
	const struct paint paint = {
		.colour = colour,
		.image = image,
		.rows = colour_rows_for(cpu),
		.wanted = wanted,
		.bytes = CHANNELS * (size_t)wanted.width,
		.out = out,
		.stride = stride,
		.scratch = scratch,
		.cancel = cancel,
	};
	int r = buffer_reserve(scratch, 2 * CHANNELS * ((size_t)image->width + 1));
	if (r == 0)
		r = colour->function(&paint);
	cancel_after(cancel, (uint64_t)wanted.width * (uint64_t)wanted.height);
	return r;
}
