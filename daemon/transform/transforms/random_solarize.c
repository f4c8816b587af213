// SPDX-License-Identifier: MIT
/* RandomSolarize: applied if uniform(0) < p. Pillow's ImageOps.solarize. */
#include "transform/draws.h"
#include "transform/registry.h"
#include "transform/transforms/colours.h"
#include "transform/transforms/common_parameters.h"

enum { THRESHOLD, P };

static uint8_t value_of(int value, double threshold)
{
	return (uint8_t)(value < threshold ? value : 255 - value);
}

static int paint(const struct paint *paint)
{
	return paint_values(paint, value_of);
}

void colour_add_solarize(struct steps *steps, double threshold)
{
	steps_add_colour(steps, paint, 0, threshold);
}

static int draw(const struct transform *transform, const struct draws *draws, struct steps *steps,
		struct fault *fault)
{
	(void)fault;
	if (draws_chance(draws, transform->values[P].number[0]))
		colour_add_solarize(steps, transform->values[THRESHOLD].number[0]);
	return 0;
}

const struct transform_row transform_random_solarize = {
	.name = "RandomSolarize",
	.parameters =
		{
			[THRESHOLD] = {.name = "threshold",
				       .type = PARAMETER_NUMBER,
				       .required = true,
				       .least = 0,
				       .most = 256},
			[P] = COMMON_P(0.5),
		},
	.draw = draw,
	.pictures_only = true,
};
