// SPDX-License-Identifier: MIT
/*
 * FixedSizeCrop: torchvision v2's: a crop where the picture is larger than size, and padding at the
 * right and at the bottom where it is smaller. Draws: uniform(0), how far from the top and from the
 * left, of what is too much on each axis, truncated. Boxes of which a crop leaves nothing are
 * dropped.
 */
#include "transform/draws.h"
#include "transform/registry.h"
#include "transform/transforms/common_parameters.h"

enum { SIZE, FILL, PADDING_MODE };

static int draw(const struct transform *transform, const struct draws *draws, struct steps *steps,
		struct fault *fault)
{
	const double *size = transform->values[SIZE].number;
	const int32_t wanted[2] = {(int32_t)size[1], (int32_t)size[0]};
	const double part = draws_uniform(draws, 0);
	double padding[4] = {0};
	int32_t from[2], left[2];
	for (int i = 0; i < 2; i++) {
		int32_t over = steps->size[i] - wanted[i];
		left[i] = over > 0 ? wanted[i] : steps->size[i];
		from[i] = over > 0 ? (int32_t)(over * part) : 0;
		padding[i + 2] = wanted[i] - left[i];
	}
	if (left[0] < steps->size[0] || left[1] < steps->size[1]) {
		steps_add_window(steps, from[0], from[1], left[0], left[1]);
		steps_add_boxes(steps, (struct box_rule){.kind = BOX_RULE_FILLED});
	}
	if (padding[2] == 0 && padding[3] == 0)
		return 0;
	return steps_add_pad(steps, "FixedSizeCrop", padding,
			     (enum border)transform->values[PADDING_MODE].number[0],
			     transform->values[FILL].number, fault);
}

const struct transform_row transform_fixed_size_crop = {
	.name = "FixedSizeCrop",
	.parameters =
		{
			[SIZE] = COMMON_SIZE(PARAMETER_SIZE),
			[FILL] = COMMON_FILL,
			[PADDING_MODE] = COMMON_BORDER,
		},
	.draw = draw,
	.fixes_size = true,
	.wide = true,
};
