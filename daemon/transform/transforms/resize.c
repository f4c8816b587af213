// SPDX-License-Identifier: MIT
/* Resize: torchvision's, on a Pillow image. Draws nothing. */
#include <math.h>

#include "transform/registry.h"
#include "transform/transforms/common_parameters.h"

enum { SIZE, INTERPOLATION, MAX_SIZE, ANTIALIAS };

static int check(const struct transform *transform, struct fault *fault)
{
	const struct parameter *size = &transform->values[SIZE];
	const struct parameter *max_size = &transform->values[MAX_SIZE];
	if (max_size->count && size->count == 2)
		return fault_say(fault, TRANSFORM_E_VALUE,
				 "Resize: 'max_size' goes with a 'size' of one number only");
	if (max_size->count && max_size->number[0] <= size->number[0])
		return fault_say(fault, TRANSFORM_E_VALUE,
				 "Resize: 'max_size' must be greater than 'size'");
	return 0;
}

static int add(const struct transform *transform, struct steps *steps, struct fault *fault)
{
	const struct parameter *size = &transform->values[SIZE];
	const struct parameter *max_size = &transform->values[MAX_SIZE];
	enum filter filter = (enum filter)transform->values[INTERPOLATION].number[0];
	double width = steps->size[0], height = steps->size[1];
	if (size->count == 2)
		return steps_add_resize(steps, "Resize", size->number[1], size->number[0], filter,
					fault);
	bool upright = width <= height;
	double new_short = size->number[0];
	double new_long =
		trunc(new_short * (upright ? height : width) / (upright ? width : height));
	if (max_size->count && new_long > max_size->number[0]) {
		new_short = trunc(max_size->number[0] * new_short / new_long);
		new_long = max_size->number[0];
	}
	return steps_add_resize(steps, "Resize", upright ? new_short : new_long,
				upright ? new_long : new_short, filter, fault);
}

static const char *unsized(const struct transform *transform, bool sized)
{
	if (sized || transform->values[SIZE].count == 2)
		return NULL;
	return "Resize of one number fixes the shorter edge only, so images would come out in "
	       "different sizes: add CenterCrop(size) behind it, or give it size=(height, width)";
}

const struct transform_row transform_resize = {
	.name = "Resize",
	.parameters =
		{
			[SIZE] = COMMON_SIZE(PARAMETER_EDGE),
			[INTERPOLATION] = COMMON_FILTER,
			[MAX_SIZE] = {.name = "max_size",
				      .type = PARAMETER_WHOLE,
				      .optional = true,
				      .least = 1,
				      .most = TRANSFORM_EDGE_MAX},
			[ANTIALIAS] = COMMON_ANTIALIAS,
		},
	.check = check,
	.add = add,
	.pictures_only = true,
	.fixes_size = true,
	.resizes = true,
	.unsized = unsized,
};
