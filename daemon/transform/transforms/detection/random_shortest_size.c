// SPDX-License-Identifier: MIT
/*
 * RandomShortestSize: torchvision v2's. Draws: the shorter edge is min_size[below(0, count)]; the
 * longer one in proportion, and both less where it would be above max_size.
 */
#include "transform/draws.h"
#include "transform/registry.h"
#include "transform/transforms/common_parameters.h"

enum { MIN_SIZE, MAX_SIZE, INTERPOLATION, ANTIALIAS };

static int draw(const struct transform *transform, const struct draws *draws, struct steps *steps,
		struct fault *fault)
{
	const struct parameter *edges = &transform->values[MIN_SIZE];
	const struct parameter *most = &transform->values[MAX_SIZE];
	const double width = steps->size[0], height = steps->size[1];
	double by = edges->number[draws_below(draws, 0, (int32_t)edges->count)] /
		    (width < height ? width : height);
	double limit = most->number[0] / (width < height ? height : width);
	if (most->count && limit < by)
		by = limit;
	return steps_add_resize(steps, "RandomShortestSize", width * by, height * by,
				(enum filter)transform->values[INTERPOLATION].number[0], fault);
}

static const char *unsized(const struct transform *transform, bool sized)
{
	(void)transform, (void)sized;
	return "RandomShortestSize makes pictures of several sizes: add FixedSizeCrop(size) or "
	       "Resize((height, width)) behind it";
}

const struct transform_row transform_random_shortest_size = {
	.name = "RandomShortestSize",
	.parameters =
		{
			[MIN_SIZE] = {.name = "min_size",
				      .type = PARAMETER_WHOLES,
				      .required = true,
				      .least = 1,
				      .most = TRANSFORM_EDGE_MAX},
			[MAX_SIZE] = {.name = "max_size",
				      .type = PARAMETER_WHOLE,
				      .optional = true,
				      .least = 1,
				      .most = TRANSFORM_EDGE_MAX},
			[INTERPOLATION] = COMMON_FILTER,
			[ANTIALIAS] = COMMON_ANTIALIAS,
		},
	.draw = draw,
	.pictures_only = true,
	.unsized = unsized,
	.wide = true,
};
