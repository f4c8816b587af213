// SPDX-License-Identifier: MIT
/*
 * ScaleJitter: torchvision v2's. Draws: scale = scale_range[0] + uniform(0) * (scale_range[1] -
 * scale_range[0]), of the resize that would fit the picture into target_size. As there, the second
 * number of target_size goes with the height.
 */
#include "transform/draws.h"
#include "transform/registry.h"
#include "transform/transforms/common_parameters.h"

enum { TARGET_SIZE, SCALE_RANGE, INTERPOLATION, ANTIALIAS };

static int draw(const struct transform *transform, const struct draws *draws, struct steps *steps,
		struct fault *fault)
{
	const double *target = transform->values[TARGET_SIZE].number;
	const double width = steps->size[0], height = steps->size[1];
	const double scale = draws_between(draws, 0, transform->values[SCALE_RANGE].number);
	const double high = target[1] / height, wide = target[0] / width;
	const double by = (high < wide ? high : wide) * scale;
	return steps_add_resize(steps, "ScaleJitter", width * by, height * by,
				(enum filter)transform->values[INTERPOLATION].number[0], fault);
}

static const char *unsized(const struct transform *transform, bool sized)
{
	(void)transform, (void)sized;
	return "ScaleJitter makes pictures of several sizes: add FixedSizeCrop(size) or "
	       "Resize((height, width)) behind it";
}

const struct transform_row transform_scale_jitter = {
	.name = "ScaleJitter",
	.parameters =
		{
			[TARGET_SIZE] = {.name = "target_size",
					 .type = PARAMETER_SIZE,
					 .required = true,
					 .least = 1,
					 .most = TRANSFORM_EDGE_MAX},
			[SCALE_RANGE] = {.name = "scale_range",
					 .type = PARAMETER_INTERVAL,
					 .most = 100,
					 .standard = {2, {0.1, 2.0}}},
			[INTERPOLATION] = COMMON_FILTER,
			[ANTIALIAS] = COMMON_ANTIALIAS,
		},
	.draw = draw,
	.pictures_only = true,
	.unsized = unsized,
	.wide = true,
};
