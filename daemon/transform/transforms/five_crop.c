// SPDX-License-Identifier: MIT
/*
 * FiveCrop: draws nothing. View v of a sample is crop v mod 5 of torchvision's. The transforms
 * before it draw as for view v / 5, so that five views are crops of one picture.
 */
#include "transform/transforms/five_crop.h"

#include "transform/registry.h"
#include "transform/transforms/common_parameters.h"

enum { SIZE };

unsigned crop_of(const struct transform *transform, const struct draws *draws)
{
	return (unsigned)(draws->key->position >> 56) % transform_views(transform);
}

int crop_add(const struct transform *transform, unsigned crop, struct steps *steps,
	     struct fault *fault)
{
	const double *size = transform->values[SIZE].number;
	int32_t width = (int32_t)size[1], height = (int32_t)size[0];
	int32_t over_x = steps->size[0] - width, over_y = steps->size[1] - height;
	if (over_x < 0 || over_y < 0)
		return fault_say(fault, STEPS_E_IMAGE,
				 "%s of %d x %d (width x height) is larger than the picture, %d x "
				 "%d: put a Resize before it",
				 transform->row->name, width, height, steps->size[0],
				 steps->size[1]);
	if (crop == 4)
		steps_add_window(steps, (int32_t)round_even(over_x / 2.0),
				 (int32_t)round_even(over_y / 2.0), width, height);
	else
		steps_add_window(steps, crop & 1 ? over_x : 0, crop & 2 ? over_y : 0, width,
				 height);
	return 0;
}

static int draw(const struct transform *transform, const struct draws *draws, struct steps *steps,
		struct fault *fault)
{
	return crop_add(transform, crop_of(transform, draws), steps, fault);
}

const struct transform_row transform_five_crop = {
	.name = "FiveCrop",
	.parameters = {[SIZE] = COMMON_SIZE(PARAMETER_SIZE)},
	.draw = draw,
	.fixes_size = true,
	.refuses_size = true,
	.views = 5,
	.wide = true,
};
