// SPDX-License-Identifier: MIT
/* RandomInvert: applied if uniform(0) < p. Pillow's ImageOps.invert. */
#include "transform/draws.h"
#include "transform/registry.h"
#include "transform/transforms/colours.h"
#include "transform/transforms/common_parameters.h"

enum { P };

static uint8_t value_of(int value, double amount)
{
	(void)amount;
	return (uint8_t)(255 - value);
}

static int paint(const struct paint *paint)
{
	return paint_values(paint, value_of);
}

void colour_add_invert(struct steps *steps, double amount)
{
	steps_add_colour(steps, paint, 0, amount);
}

static int draw(const struct transform *transform, const struct draws *draws, struct steps *steps,
		struct fault *fault)
{
	(void)fault;
	if (draws_chance(draws, transform->values[P].number[0]))
		colour_add_invert(steps, 0.0);
	return 0;
}

const struct transform_row transform_random_invert = {
	.name = "RandomInvert",
	.parameters = {[P] = COMMON_P(0.5)},
	.draw = draw,
	.pictures_only = true,
};
