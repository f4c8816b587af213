// SPDX-License-Identifier: MIT
/* RandomGrayscale: applied if uniform(0) < p. */
#include "transform/draws.h"
#include "transform/registry.h"
#include "transform/transforms/colours.h"
#include "transform/transforms/common_parameters.h"

enum { P };

static int draw(const struct transform *transform, const struct draws *draws, struct steps *steps,
		struct fault *fault)
{
	(void)fault;
	if (draws_chance(draws, transform->values[P].number[0]))
		colour_add_grayscale(steps, 0.0);
	return 0;
}

const struct transform_row transform_random_grayscale = {
	.name = "RandomGrayscale",
	.parameters = {[P] = COMMON_P(0.1)},
	.draw = draw,
	.pictures_only = true,
};
