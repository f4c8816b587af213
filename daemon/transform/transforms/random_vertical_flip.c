// SPDX-License-Identifier: MIT
/* RandomVerticalFlip: flipped if uniform(0) < p. */
#include "transform/draws.h"
#include "transform/registry.h"
#include "transform/transforms/common_parameters.h"

enum { P };

static int draw(const struct transform *transform, const struct draws *draws, struct steps *steps,
		struct fault *fault)
{
	(void)fault;
	if (draws_chance(draws, transform->values[P].number[0]))
		steps_add_flip(steps, false, true);
	return 0;
}

const struct transform_row transform_random_vertical_flip = {
	.name = "RandomVerticalFlip",
	.parameters = {[P] = COMMON_P(0.5)},
	.draw = draw,
	.wide = true,
};
