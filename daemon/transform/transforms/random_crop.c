// SPDX-License-Identifier: MIT
/*
 * RandomCrop: torchvision's. Draws, of the padded picture:
 *	top = below(0, height - h + 1), left = below(1, width - w + 1)
 */
#include "transform/draws.h"
#include "transform/registry.h"
#include "transform/transforms/common_parameters.h"

enum { SIZE, PADDING, PAD_IF_NEEDED, FILL, PADDING_MODE };

static int add_padding(const struct transform *transform, const double padding[4],
		       struct steps *steps, struct fault *fault)
{
	return steps_add_pad(steps, "RandomCrop", padding,
			     (enum border)transform->values[PADDING_MODE].number[0],
			     transform->values[FILL].number, fault);
}

static int pad(const struct transform *transform, int32_t width, int32_t height,
	       struct steps *steps, struct fault *fault)
{
	int r = 0;
	if (transform->values[PADDING].count)
		r = add_padding(transform, transform->values[PADDING].number, steps, fault);
	if (transform->values[PAD_IF_NEEDED].number[0] == 0.0)
		return r;
	if (r == 0 && steps->size[0] < width) {
		double missing = width - steps->size[0];
		r = add_padding(transform, (const double[4]){missing, 0, missing, 0}, steps, fault);
	}
	if (r == 0 && steps->size[1] < height) {
		double missing = height - steps->size[1];
		r = add_padding(transform, (const double[4]){0, missing, 0, missing}, steps, fault);
	}
	return r;
}

static int draw(const struct transform *transform, const struct draws *draws, struct steps *steps,
		struct fault *fault)
{
	const double *size = transform->values[SIZE].number;
	int32_t width = (int32_t)size[1], height = (int32_t)size[0];
	int r = pad(transform, width, height, steps, fault);
	if (r)
		return r;
	int32_t over_x = steps->size[0] - width, over_y = steps->size[1] - height;
	if (over_x < 0 || over_y < 0)
		return fault_say(fault, STEPS_E_IMAGE,
				 "RandomCrop of %d x %d (width x height) is larger than the "
				 "picture, %d x %d: set pad_if_needed, or put a Resize before it",
				 width, height, steps->size[0], steps->size[1]);
	int32_t top = draws_below(draws, 0, over_y + 1), left = draws_below(draws, 1, over_x + 1);
	steps_add_window(steps, left, top, width, height);
	return 0;
}

const struct transform_row transform_random_crop = {
	.name = "RandomCrop",
	.parameters =
		{
			[SIZE] = COMMON_SIZE(PARAMETER_SIZE),
			[PADDING] = {.name = "padding",
				     .type = PARAMETER_PADDING,
				     .optional = true,
				     .most = TRANSFORM_EDGE_MAX},
			[PAD_IF_NEEDED] = COMMON_FALSE("pad_if_needed"),
			[FILL] = COMMON_FILL,
			[PADDING_MODE] = COMMON_BORDER,
		},
	.draw = draw,
	.fixes_size = true,
	.refuses_size = true,
	.wide = true,
};
