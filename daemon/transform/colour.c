// SPDX-License-Identifier: MIT
/*
 * Most kinds are three tables of 256 bytes, one a channel; the others are a blend of each pixel
 * with what stands at the factor 0, a turn of the hue, or the blur.
 */
#include "transform/colour.h"

#include <stdbool.h>
#include <string.h>

#include "base/exact.h"
#include "transform/colour_rows.h"

#define CHANNELS 3
#define STRIP 1024 /* pixels of a row that are blurred at a time */

/* One run: what its parts share. */
struct paint {
	const struct colour *colour;
	const struct image *image;
	const struct colour_rows *rows;
	struct rect wanted;
	size_t bytes; /* of a row of `wanted` */
	uint8_t *out;
	size_t stride;
	struct buffer *scratch;
};

struct tables {
	uint8_t of[CHANNELS][256];
};

struct histogram {
	uint64_t count[CHANNELS][256];
};

int32_t colour_reach(const struct colour *colour)
{
	switch (colour->kind) {
	case COLOUR_AUTOCONTRAST:
	case COLOUR_EQUALIZE:
	case COLOUR_CONTRAST:
		return COLOUR_WHOLE;
	case COLOUR_SHARPNESS:
		return 1;
	case COLOUR_BLUR:
		return (int32_t)(colour->amount[0] > colour->amount[1] ? colour->amount[0]
								       : colour->amount[1]) /
		       2;
	default:
		return 0;
	}
}

/* The picture's pixel (x, y). */
static const uint8_t *pixel_at(const struct paint *paint, int32_t x, int32_t y)
{
	const struct image *image = paint->image;
	return image->pixels + (size_t)(y - image->area.y) * image->stride +
	       CHANNELS * (size_t)(x - image->area.x);
}

/* --- what a channel's value becomes --- */

static uint8_t blend_byte(double from, int to, double factor)
{
	/* Pillow's factor is a float. */
	float value = (float)from + (float)factor * (float)(to - (int)from);
	return value <= 0.0f ? 0 : value >= 255.0f ? 255 : (uint8_t)value;
}

/* The rounded mean of the picture in gray. */
static double mean_gray(const struct paint *paint)
{
	const struct image *image = paint->image;
	uint64_t sum = 0;
	for (int32_t y = 0; y < image->height; y++) {
		const uint8_t *row = pixel_at(paint, 0, y);
		paint->rows->gray(paint->scratch->data, row, (size_t)image->width);
		for (size_t x = 0; x < (size_t)image->width; x++)
			sum += paint->scratch->data[CHANNELS * x];
	}
	double pixels = (double)image->width * (double)image->height;
	return (double)(int)((double)sum / pixels + 0.5);
}

static void count_values(struct histogram *out, const struct paint *paint)
{
	const struct image *image = paint->image;
	memset(out, 0, sizeof(*out));
	for (int32_t y = 0; y < image->height; y++) {
		const uint8_t *row = pixel_at(paint, 0, y);
		for (size_t x = 0; x < (size_t)image->width; x++)
			for (int c = 0; c < CHANNELS; c++)
				out->count[c][row[CHANNELS * x + (size_t)c]]++;
	}
}

static void table_same(uint8_t *table)
{
	for (int value = 0; value < 256; value++)
		table[value] = (uint8_t)value;
}

/* From the darkest value that there is to the lightest, spread over all. */
static void table_autocontrast(uint8_t *table, const uint64_t *count)
{
	int low = 0, high = 255;
	while (low < 255 && !count[low])
		low++;
	while (high > 0 && !count[high])
		high--;
	table_same(table);
	if (high <= low)
		return;
	double scale = 255.0 / (high - low), offset = -low * scale;
	for (int value = 0; value < 256; value++) {
		double spread = value * scale + offset;
		table[value] = spread < 0.0 ? 0 : spread > 255.0 ? 255 : (uint8_t)spread;
	}
}

static void table_equalize(uint8_t *table, const uint64_t *count)
{
	uint64_t total = 0, last = 0;
	for (int value = 0; value < 256; value++) {
		total += count[value];
		last = count[value] ? count[value] : last;
	}
	uint64_t step = (total - last) / 255, sum = step / 2;
	table_same(table);
	for (int value = 0; step && value < 256; value++) {
		table[value] = (uint8_t)(sum / step < 255 ? sum / step : 255);
		sum += count[value];
	}
}

static uint8_t value_of(const struct colour *colour, int value, double gray)
{
	double amount = colour->amount[0];
	switch (colour->kind) {
	case COLOUR_INVERT:
		return (uint8_t)(255 - value);
	case COLOUR_POSTERIZE:
		return (uint8_t)(value & ~((1 << (8 - (int)amount)) - 1));
	case COLOUR_SOLARIZE:
		return (uint8_t)(value < amount ? value : 255 - value);
	default:
		return blend_byte(gray, value, amount);
	}
}

static void tables_make(struct tables *tables, const struct paint *paint)
{
	const struct colour *colour = paint->colour;
	struct histogram histogram;
	if (colour->kind == COLOUR_AUTOCONTRAST || colour->kind == COLOUR_EQUALIZE) {
		count_values(&histogram, paint);
		for (int c = 0; c < CHANNELS; c++) {
			if (colour->kind == COLOUR_EQUALIZE)
				table_equalize(tables->of[c], histogram.count[c]);
			else
				table_autocontrast(tables->of[c], histogram.count[c]);
		}
		return;
	}
	double gray = colour->kind == COLOUR_CONTRAST ? mean_gray(paint) : 0.0;
	for (int value = 0; value < 256; value++)
		tables->of[0][value] = tables->of[1][value] = tables->of[2][value] =
			value_of(colour, value, gray);
}

static void paint_tables(const struct paint *paint)
{
	struct tables tables;
	tables_make(&tables, paint);
	for (int32_t y = 0; y < paint->wanted.height; y++) {
		const uint8_t *row = pixel_at(paint, paint->wanted.x, paint->wanted.y + y);
		uint8_t *out = paint->out + (size_t)y * paint->stride;
		for (size_t i = 0; i < paint->bytes; i += CHANNELS)
			for (int c = 0; c < CHANNELS; c++)
				out[i + (size_t)c] = tables.of[c][row[i + (size_t)c]];
	}
}

/* --- what depends on a pixel's channels --- */

/* A row of `wanted` by way of two rows of scratch: the loops' rows must not overlap. */
static void paint_pixels(const struct paint *paint)
{
	uint8_t *gray = paint->scratch->data, *made = gray + paint->bytes;
	const size_t pixels = paint->bytes / CHANNELS;
	/* Gray is a blend with nothing of the row itself. */
	const bool no_colour = paint->colour->kind == COLOUR_GRAYSCALE;
	const double amount = no_colour ? 0.0 : paint->colour->amount[0];
	for (int32_t y = 0; y < paint->wanted.height; y++) {
		const uint8_t *row = pixel_at(paint, paint->wanted.x, paint->wanted.y + y);
		if (paint->colour->kind == COLOUR_HUE) {
			/* A negative turn wraps, as numpy's uint8 does. */
			paint->rows->hue(made, row, (uint8_t)(int)(amount * 255.0), pixels);
		} else {
			paint->rows->gray(gray, row, pixels);
			paint->rows->blend(made, gray, row, (float)amount, paint->bytes);
		}
		memcpy(paint->out + (size_t)y * paint->stride, made, paint->bytes);
	}
}

/* --- what depends on a pixel's neighbours --- */

/* The smoothed row `y` of `wanted`; Pillow copies what has no neighbour on some side. */
static void smooth_row(const struct paint *paint, int32_t y, uint8_t *made)
{
	const struct image *image = paint->image;
	const struct rect *wanted = &paint->wanted;
	const size_t stride = image->stride;
	const uint8_t *row = pixel_at(paint, wanted->x, y);
	memcpy(made, row, paint->bytes);
	if (image->width < 3 || image->height < 3 || y == 0 || y == image->height - 1)
		return;
	bool left = wanted->x > 0, right = wanted->x + wanted->width < image->width;
	/* The loop copies its first and last pixel: let those be beside what is wanted. */
	size_t lead = left ? CHANNELS : 0, tail = right ? CHANNELS : 0;
	size_t bytes = paint->bytes + lead + tail;
	uint8_t *line = made + paint->bytes;
	if (bytes < 3 * CHANNELS)
		return;
	row -= lead;
	paint->rows->smooth(line, row - stride, row, row + stride, bytes);
	memcpy(made, line + lead, paint->bytes);
}

static void paint_sharpness(const struct paint *paint)
{
	uint8_t *made = paint->scratch->data;
	for (int32_t y = 0; y < paint->wanted.height; y++) {
		const uint8_t *row = pixel_at(paint, paint->wanted.x, paint->wanted.y + y);
		smooth_row(paint, paint->wanted.y + y, made);
		paint->rows->blend(paint->out + (size_t)y * paint->stride, made, row,
				   (float)paint->colour->amount[0], paint->bytes);
	}
}

/* The weights of a Gaussian of `count` pixels. */
static void weights_make(float *weights, int32_t count, double sigma)
{
	double values[COLOUR_KERNEL_MAX], sum = 0.0;
	for (int32_t i = 0; i < count; i++) {
		double x = (i - count / 2) / sigma, power = -0.5 * x * x;
		values[i] = power < -700.0 ? 0.0 : exact_exp(power);
		sum += values[i];
	}
	for (int32_t i = 0; i < count; i++)
		weights[i] = (float)(values[i] / sum);
}

/* 2 1 0 1 2 ... n-1 n-2 */
static int32_t reflect(int32_t at, int32_t count)
{
	if (at < 0)
		return -at;
	return at < count ? at : 2 * (count - 1) - at;
}

struct blur {
	int32_t kernel[2]; /* width, height */
	float weights[2][COLOUR_KERNEL_MAX];
	float *wide;	/* a row of the picture, and what is reflected beside it */
	float *lines;	/* kernel[1] rows blurred along x: row y stands at y % kernel[1] */
	float *made;	/* a row blurred along both */
	size_t numbers; /* of a row */
};

static float *blur_line(const struct blur *blur, int32_t y)
{
	return blur->lines + (size_t)(y % blur->kernel[1]) * blur->numbers;
}

static void blur_along_x(const struct paint *paint, const struct blur *blur, int32_t y)
{
	const int32_t reach = blur->kernel[0] / 2, width = paint->image->width;
	const int32_t left = paint->wanted.x - reach;
	const int32_t right = paint->wanted.x + paint->wanted.width + reach;
	const int32_t first = left < 0 ? 0 : left, end = right > width ? width : right;
	const float *taps[COLOUR_KERNEL_MAX];
	float *row = blur->wide, *inside = row + CHANNELS * (size_t)(first - left);
	paint->rows->widen(inside, pixel_at(paint, first, y), CHANNELS * (size_t)(end - first));
	for (int32_t x = left; x < right; x++) {
		const float *from = inside + CHANNELS * (ptrdiff_t)(reflect(x, width) - first);
		if (x < first || x >= end)
			memcpy(row + CHANNELS * (size_t)(x - left), from, CHANNELS * sizeof(*row));
	}
	for (int32_t k = 0; k < blur->kernel[0]; k++)
		taps[k] = row + CHANNELS * (size_t)k;
	paint->rows->weigh(blur_line(blur, y), taps, blur->weights[0], blur->kernel[0],
			   blur->numbers);
}

static void blur_run(const struct paint *paint, const struct blur *blur)
{
	const int32_t reach = blur->kernel[1] / 2, height = paint->image->height;
	const int32_t top = paint->wanted.y;
	const float *taps[COLOUR_KERNEL_MAX];
	int32_t next = top > reach ? top - reach : 0; /* the first row that is not yet a line */
	for (int32_t y = top; y < top + paint->wanted.height; y++) {
		for (; next <= y + reach && next < height; next++)
			blur_along_x(paint, blur, next);
		for (int32_t k = 0; k < blur->kernel[1]; k++)
			taps[k] = blur_line(blur, reflect(y - reach + k, height));
		paint->rows->weigh(blur->made, taps, blur->weights[1], blur->kernel[1],
				   blur->numbers);
		paint->rows->round(paint->out + (size_t)(y - top) * paint->stride, blur->made,
				   paint->bytes);
	}
}

/* In strips, so that the lines stay within the caches and within reason. */
static void paint_blur(const struct paint *paint)
{
	struct blur blur;
	for (int i = 0; i < 2; i++) {
		blur.kernel[i] = (int32_t)paint->colour->amount[i];
		weights_make(blur.weights[i], blur.kernel[i], paint->colour->amount[2]);
	}
	blur.wide = (float *)paint->scratch->data;
	blur.made = blur.wide + CHANNELS * (STRIP + COLOUR_KERNEL_MAX);
	blur.lines = blur.made + CHANNELS * STRIP;
	for (int32_t x = 0; x < paint->wanted.width; x += STRIP) {
		struct paint strip = *paint;
		int32_t rest = paint->wanted.width - x;
		strip.wanted.x += x;
		strip.wanted.width = rest < STRIP ? rest : STRIP;
		strip.bytes = CHANNELS * (size_t)strip.wanted.width;
		strip.out += CHANNELS * (size_t)x;
		blur.numbers = strip.bytes;
		blur_run(&strip, &blur);
	}
}

/* --- all of them --- */

static size_t scratch_size(const struct colour *colour, const struct image *image)
{
	size_t row = CHANNELS * (size_t)image->width;
	if (colour->kind == COLOUR_BLUR)
		return CHANNELS * sizeof(float) *
		       (STRIP * (size_t)(colour->amount[1] + 2) + COLOUR_KERNEL_MAX);
	return 2 * row + 2 * CHANNELS;
}

int colour_run(const struct colour *colour, const struct image *image, struct rect wanted,
	       uint8_t *out, size_t stride, enum cpu cpu, struct buffer *scratch)
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
	};
	int r = buffer_reserve(scratch, scratch_size(colour, image));
	if (r < 0)
		return r;
	switch (colour->kind) {
	case COLOUR_GRAYSCALE:
	case COLOUR_SATURATION:
	case COLOUR_HUE:
		paint_pixels(&paint);
		break;
	case COLOUR_SHARPNESS:
		paint_sharpness(&paint);
		break;
	case COLOUR_BLUR:
		paint_blur(&paint);
		break;
	default:
		paint_tables(&paint);
	}
	return 0;
}
