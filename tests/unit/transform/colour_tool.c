// SPDX-License-Identifier: MIT
/* One change of colours as a shared module, for test_colour_pillow.py: a part of a picture in, the
 * wanted part out. */
#include "transform/transforms/colours.h"

#define EXPORT __attribute__((visibility("default")))

int tool_reach(int kind, const double *amount);
int tool_colour(int kind, const double *amount, const struct image *image,
		const struct rect *wanted, uint8_t *out, size_t stride, int times);

/* In the order of KINDS in the test; the blur is behind them. */
static colour_adder *const adders[] = {
	colour_add_invert,	 colour_add_grayscale, colour_add_posterize,  colour_add_solarize,
	colour_add_autocontrast, colour_add_equalize,  colour_add_brightness, colour_add_contrast,
	colour_add_saturation,	 colour_add_sharpness, colour_add_hue,
};

static struct colour colour_of(int kind, const double *amount)
{
	static struct steps steps;
	steps_begin(&steps, 1, 1);
	if ((size_t)kind < sizeof(adders) / sizeof(*adders))
		adders[kind](&steps, amount[0]);
	else
		colour_add_blur(&steps, (int32_t)amount[0], (int32_t)amount[1], amount[2]);
	return steps.step[0].colour;
}

EXPORT int tool_reach(int kind, const double *amount)
{
	const struct colour colour = colour_of(kind, amount);
	return colour.reach;
}

EXPORT int tool_colour(int kind, const double *amount, const struct image *image,
		       const struct rect *wanted, uint8_t *out, size_t stride, int times)
{
	const struct colour colour = colour_of(kind, amount);
	struct buffer scratch = BUFFER_NULL;
	int r = 0;
	for (int i = 0; r == 0 && i < times; i++)
		r = colour_run(&colour, image, *wanted, out, stride, cpu_best(), &scratch, NULL);
	buffer_deinit(&scratch);
	return r;
}
