// SPDX-License-Identifier: MIT
/*
 * RandomZoomOut: torchvision v2's: the picture somewhere on a larger one. Applied if uniform(0) <
 * p. Draws: r = side_range[0] + uniform(1) * (side_range[1] - side_range[0]), by which both edges
 * grow, truncated; left = uniform(2), top = uniform(3), of what they grow by, truncated.
 */
#include "transform/draws.h"
#include "transform/registry.h"
#include "transform/transforms/common_parameters.h"

enum { FILL, SIDE_RANGE, P };

static int draw(const struct transform *transform, const struct draws *draws, struct steps *steps,
		struct fault *fault)
{
	if (!draws_chance(draws, transform->values[P].number[0]))
		return 0;
	const double by = draws_between(draws, 1, transform->values[SIDE_RANGE].number);
	double padding[4];
	for (uint32_t i = 0; i < 2; i++) {
		double edge = steps->size[i] * by;
		if (edge > STEPS_EDGE_MAX)
			return steps_say_large(steps, "RandomZoomOut", fault);
		int32_t more = (int32_t)edge - steps->size[i];
		padding[i] = (int32_t)(more * draws_uniform(draws, 2 + i));
		padding[i + 2] = more - padding[i];
	}
	return steps_add_pad(steps, "RandomZoomOut", padding, BORDER_CONSTANT,
			     transform->values[FILL].number, fault);
}

static const char *unsized(const struct transform *transform, bool sized)
{
	(void)transform, (void)sized;
	return "RandomZoomOut makes pictures of several sizes: add FixedSizeCrop(size) or "
	       "Resize((height, width)) behind it";
}

const struct transform_row transform_random_zoom_out = {
	.name = "RandomZoomOut",
	.parameters =
		{
			[FILL] = COMMON_FILL,
			[SIDE_RANGE] = {.name = "side_range",
					.type = PARAMETER_INTERVAL,
					.least = 1,
					.most = 100,
					.standard = {2, {1.0, 4.0}}},
			[P] = COMMON_P(0.5),
		},
	.draw = draw,
	.unsized = unsized,
	.wide = true,
};
