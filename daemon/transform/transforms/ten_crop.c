// SPDX-License-Identifier: MIT
/*
 * TenCrop: draws nothing. View v of a sample is crop v mod 10 of torchvision's: FiveCrop's, then
 * those of the flipped picture. The transforms before it draw as for view v / 10.
 */
#include "transform/registry.h"
#include "transform/transforms/common_parameters.h"
#include "transform/transforms/five_crop.h"

enum { SIZE, VERTICAL_FLIP };

static int draw(const struct transform *transform, const struct draws *draws, struct steps *steps,
		struct fault *fault)
{
	unsigned crop = crop_of(transform, draws);
	bool vertical = transform->values[VERTICAL_FLIP].number[0] != 0.0;
	if (crop >= 5)
		steps_add_flip(steps, !vertical, vertical);
	return crop_add(transform, crop % 5, steps, fault);
}

const struct transform_row transform_ten_crop = {
	.name = "TenCrop",
	.parameters =
		{
			[SIZE] = COMMON_SIZE(PARAMETER_SIZE),
			[VERTICAL_FLIP] = COMMON_FALSE("vertical_flip"),
		},
	.draw = draw,
	.fixes_size = true,
	.refuses_size = true,
	.views = 10,
	.wide = true,
};
