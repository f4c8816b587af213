// SPDX-License-Identifier: MIT
/*
 * RandomPhotometricDistort: torchvision v2's. Draws, each the number after the last: for
 * brightness, contrast, saturation and hue whether uniform < p and, only then, its factor = lowest
 * + uniform * (highest - lowest); whether contrast comes before saturation and hue, uniform < 0.5,
 * or behind; whether channels are permuted, uniform < p, and, only then, for i = 2, 1, i and
 * below(i + 1) of 0, 1, 2 are swapped.
 */
#include "transform/draws.h"
#include "transform/registry.h"
#include "transform/transforms/colours.h"
#include "transform/transforms/common_parameters.h"

enum { BRIGHTNESS, CONTRAST, SATURATION, HUE, P, CHANGES = P };

static int paint_permuted(const struct paint *paint)
{
	const double *from = paint->colour->amount;
	for (int32_t y = 0; y < paint->wanted.height; y++) {
		const uint8_t *row = paint_row(paint, y);
		uint8_t *out = paint_out(paint, y);
		for (size_t x = 0; x < paint->bytes; x += COLOUR_CHANNELS) {
			const uint8_t pixel[COLOUR_CHANNELS] = {row[x], row[x + 1], row[x + 2]};
			for (size_t c = 0; c < COLOUR_CHANNELS; c++)
				out[x + c] = pixel[(int)from[c]];
		}
	}
	return 0;
}

static void draw_permutation(const struct draws *draws, uint32_t number, struct steps *steps)
{
	double from[COLOUR_CHANNELS] = {0, 1, 2};
	for (int32_t i = COLOUR_CHANNELS - 1; i > 0; i--) {
		int32_t other = draws_below(draws, number++, i + 1);
		double swap = from[i];
		from[i] = from[other];
		from[other] = swap;
	}
	struct colour *colour = steps_add_colour(steps, paint_permuted, 0, from[0]);
	colour->amount[1] = from[1];
	colour->amount[2] = from[2];
}

static int draw(const struct transform *transform, const struct draws *draws, struct steps *steps,
		struct fault *fault)
{
	static colour_adder *const adders[CHANGES] = {
		[BRIGHTNESS] = colour_add_brightness,
		[CONTRAST] = colour_add_contrast,
		[SATURATION] = colour_add_saturation,
		[HUE] = colour_add_hue,
	};
	static const unsigned before[CHANGES] = {BRIGHTNESS, CONTRAST, SATURATION, HUE};
	static const unsigned behind[CHANGES] = {BRIGHTNESS, SATURATION, HUE, CONTRAST};
	const double p = transform->values[P].number[0];
	double amount[CHANGES] = {0};
	bool done[CHANGES];
	uint32_t number = 0;
	(void)fault;
	for (unsigned i = 0; i < CHANGES; i++) {
		done[i] = draws_uniform(draws, number++) < p;
		if (done[i])
			amount[i] = draws_between(draws, number++, transform->values[i].number);
	}
	const unsigned *order = draws_uniform(draws, number++) < 0.5 ? before : behind;
	for (unsigned i = 0; i < CHANGES; i++)
		if (done[order[i]])
			adders[order[i]](steps, amount[order[i]]);
	if (draws_uniform(draws, number++) < p)
		draw_permutation(draws, number, steps);
	return 0;
}

#define FACTOR(name_, lowest_, highest_)                                                           \
	{                                                                                          \
		.name = name_, .type = PARAMETER_INTERVAL, .most = 1e6, .standard = {              \
			2,                                                                         \
			{lowest_, highest_}                                                        \
		}                                                                                  \
	}

const struct transform_row transform_random_photometric_distort = {
	.name = "RandomPhotometricDistort",
	.parameters =
		{
			[BRIGHTNESS] = FACTOR("brightness", 0.875, 1.125),
			[CONTRAST] = FACTOR("contrast", 0.5, 1.5),
			[SATURATION] = FACTOR("saturation", 0.5, 1.5),
			[HUE] = {.name = "hue",
				 .type = PARAMETER_INTERVAL,
				 .least = -0.5,
				 .most = 0.5,
				 .standard = {2, {-0.05, 0.05}}},
			[P] = COMMON_P(0.5),
		},
	.draw = draw,
	.pictures_only = true,
};
