// SPDX-License-Identifier: MIT
/*
 * ColorJitter: brightness, contrast, saturation and hue, each by a factor (Pillow's ImageEnhance
 * and HSV conversion), in random order. Draws:
 *	order: of brightness, contrast, saturation, hue, for i = 3, 2, 1, i and below(i, i + 1) are
 *		swapped; they are applied in that order
 *	brightness = lowest + uniform(4) * (highest - lowest), contrast likewise with uniform(5),
 *		saturation with uniform(6), hue with uniform(7)
 * One whose range is 1 to 1 (hue: 0 to 0) is left out.
 */
#include <string.h>

#include "transform/draws.h"
#include "transform/registry.h"
#include "transform/transforms/colours.h"

enum { BRIGHTNESS, CONTRAST, SATURATION, HUE, JITTERS };

/* Pillow's factor is a float. */
static uint8_t blend_byte(double from, int to, double factor)
{
	float value = (float)from + (float)factor * (float)(to - (int)from);
	return value <= 0.0f ? 0 : value >= 255.0f ? 255 : (uint8_t)value;
}

static uint8_t brighter(int value, double factor)
{
	return blend_byte(0.0, value, factor);
}

static int paint_brightness(const struct paint *paint)
{
	return paint_values(paint, brighter);
}

/* The rounded mean of the picture in gray. */
static double mean_gray(const struct paint *paint)
{
	const struct image *image = paint->image;
	uint64_t sum = 0;
	for (int32_t y = 0; y < image->height; y++) {
		const uint8_t *row = paint_pixel(paint, 0, y);
		paint->rows->gray(paint->scratch->data, row, (size_t)image->width);
		for (size_t x = 0; x < (size_t)image->width; x++)
			sum += paint->scratch->data[COLOUR_CHANNELS * x];
	}
	double pixels = (double)image->width * (double)image->height;
	return (double)(int)((double)sum / pixels + 0.5);
}

static int paint_contrast(const struct paint *paint)
{
	const double gray = mean_gray(paint);
	struct colour_tables tables;
	for (int value = 0; value < 256; value++)
		tables.of[0][value] = blend_byte(gray, value, paint->colour->amount[0]);
	for (int c = 1; c < COLOUR_CHANNELS; c++)
		memcpy(tables.of[c], tables.of[0], sizeof(tables.of[0]));
	return paint_tables(paint, &tables);
}

static int paint_saturation(const struct paint *paint)
{
	return paint_gray(paint, paint->colour->amount[0]);
}

static int paint_hue(const struct paint *paint)
{
	/* A negative turn wraps around, as numpy's uint8 does. */
	const uint8_t turn = (uint8_t)(int)(paint->colour->amount[0] * 255.0);
	uint8_t *made = paint->scratch->data;
	for (int32_t y = 0; y < paint->wanted.height; y++) {
		paint->rows->hue(made, paint_row(paint, y), turn, paint->bytes / COLOUR_CHANNELS);
		memcpy(paint_out(paint, y), made, paint->bytes);
	}
	return 0;
}

void colour_add_brightness(struct steps *steps, double factor)
{
	steps_add_colour(steps, paint_brightness, 0, factor);
}

void colour_add_contrast(struct steps *steps, double factor)
{
	steps_add_colour(steps, paint_contrast, COLOUR_WHOLE, factor);
}

void colour_add_saturation(struct steps *steps, double factor)
{
	steps_add_colour(steps, paint_saturation, 0, factor);
}

void colour_add_hue(struct steps *steps, double turn)
{
	steps_add_colour(steps, paint_hue, 0, turn);
}

static int draw(const struct transform *transform, const struct draws *draws, struct steps *steps,
		struct fault *fault)
{
	static const struct {
		colour_adder *add;
		double same; /* changes nothing */
	} jitters[JITTERS] = {
		[BRIGHTNESS] = {colour_add_brightness, 1.0},
		[CONTRAST] = {colour_add_contrast, 1.0},
		[SATURATION] = {colour_add_saturation, 1.0},
		[HUE] = {colour_add_hue, 0.0},
	};
	unsigned order[JITTERS] = {BRIGHTNESS, CONTRAST, SATURATION, HUE};
	(void)fault;
	for (unsigned i = JITTERS - 1; i > 0; i--) {
		unsigned other = (unsigned)draws_below(draws, i, (int32_t)i + 1), swap = order[i];
		order[i] = order[other];
		order[other] = swap;
	}
	for (unsigned i = 0; i < JITTERS; i++) {
		unsigned jitter = order[i];
		const double *range = transform->values[jitter].number;
		double same = jitters[jitter].same;
		if (range[0] != same || range[1] != same)
			jitters[jitter].add(steps, draws_between(draws, JITTERS + jitter, range));
	}
	return 0;
}

#define FACTOR(name_)                                                                              \
	{                                                                                          \
		.name = name_, .type = PARAMETER_FACTOR, .most = 1e6, .standard = { 2, {1, 1} }    \
	}

const struct transform_row transform_color_jitter = {
	.name = "ColorJitter",
	.parameters =
		{
			[BRIGHTNESS] = FACTOR("brightness"),
			[CONTRAST] = FACTOR("contrast"),
			[SATURATION] = FACTOR("saturation"),
			[HUE] = {.name = "hue",
				 .type = PARAMETER_TURN,
				 .least = -0.5,
				 .most = 0.5,
				 .standard = {2, {0, 0}}},
		},
	.draw = draw,
	.pictures_only = true,
};
