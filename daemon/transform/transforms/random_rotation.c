// SPDX-License-Identifier: MIT
/* RandomRotation: by lowest + uniform(0) * (highest - lowest) of `degrees`. */
#include "transform/draws.h"
#include "transform/registry.h"
#include "transform/transforms/common_parameters.h"
#include "transform/transforms/rotate.h"

enum { DEGREES, INTERPOLATION, EXPAND, CENTER, FILL };

static int draw(const struct transform *transform, const struct draws *draws, struct steps *steps,
		struct fault *fault)
{
	const struct parameter *values = transform->values;
	return rotate_add(steps, draws_between(draws, 0, values[DEGREES].number),
			  values[CENTER].count ? values[CENTER].number : NULL,
			  values[EXPAND].number[0] != 0.0,
			  warp_look_of(&values[INTERPOLATION], &values[FILL]), fault);
}

static const char *unsized(const struct transform *transform, bool sized)
{
	const double *degrees = transform->values[DEGREES].number;
	(void)sized;
	if (transform->values[EXPAND].number[0] == 0.0 || degrees[0] == degrees[1])
		return NULL;
	return "RandomRotation with 'expand' makes images of a size for each angle: add "
	       "CenterCrop(size) or Resize((height, width)) behind it";
}

const struct transform_row transform_random_rotation = {
	.name = "RandomRotation",
	.parameters =
		{
			[DEGREES] = COMMON_DEGREES,
			[INTERPOLATION] = COMMON_WARP_FILTER(FILTER_NEAREST),
			[EXPAND] = COMMON_FALSE("expand"),
			[CENTER] = COMMON_CENTER,
			[FILL] = COMMON_FILL,
		},
	.draw = draw,
	.pictures_only = true,
	.unsized = unsized,
};
