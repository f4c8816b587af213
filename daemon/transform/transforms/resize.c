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
	if (size->count == 0 && max_size->count == 0)
		return fault_say(fault, TRANSFORM_E_VALUE,
				 "Resize needs 'size', or 'max_size' for the longer edge alone");
	if (size->count == 0)
		return 0;
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
	double shorter = upright ? width : height, longer = upright ? height : width;
	double new_short = size->number[0], new_long = trunc(new_short * longer / shorter);
	if (size->count == 0) {
		new_long = max_size->number[0];
		new_short = trunc(new_long * shorter / longer);
	} else if (max_size->count && new_long > max_size->number[0]) {
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
	if (transform->values[SIZE].count == 0)
		return "Resize with 'max_size' fixes the longer edge only, so images would come "
		       "out in different sizes: add Pad(to=(height, width)) behind it";
	return "Resize of one number fixes the shorter edge only, so images would come out in "
	       "different sizes: add CenterCrop(size) behind it, or give it size=(height, width)";
}

const struct transform_row transform_resize = {
	.name = "Resize",
	.parameters =
		{
			[SIZE] = {.name = "size",
				  .type = PARAMETER_EDGE,
				  .optional = true,
				  .least = 1,
				  .most = TRANSFORM_EDGE_MAX},
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
	.wide = true,
};
