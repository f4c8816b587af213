// SPDX-License-Identifier: MIT
/* RandomPosterize: applied if uniform(0) < p. Pillow's ImageOps.posterize. */
#include "transform/draws.h"
#include "transform/registry.h"
#include "transform/transforms/colours.h"
#include "transform/transforms/common_parameters.h"

enum { BITS, P };

static uint8_t value_of(int value, double bits)
{
	return (uint8_t)(value & ~((1 << (8 - (int)bits)) - 1));
}

static int paint(const struct paint *paint)
{
	return paint_values(paint, value_of);
}

void colour_add_posterize(struct steps *steps, double bits)
{
	steps_add_colour(steps, paint, 0, bits);
}

static int draw(const struct transform *transform, const struct draws *draws, struct steps *steps,
		struct fault *fault)
{
	(void)fault;
	if (draws_chance(draws, transform->values[P].number[0]))
		colour_add_posterize(steps, transform->values[BITS].number[0]);
	return 0;
}

const struct transform_row transform_random_posterize = {
	.name = "RandomPosterize",
	.parameters =
		{
			[BITS] = {.name = "bits",
				  .type = PARAMETER_WHOLE,
				  .required = true,
				  .least = 0,
				  .most = 8},
			[P] = COMMON_P(0.5),
		},
	.draw = draw,
	.pictures_only = true,
};
