// SPDX-License-Identifier: MIT
/* CenterCrop: torchvision's; pads with black where the picture is smaller. Draws nothing. */
#include "transform/draws.h"
#include "transform/registry.h"
#include "transform/transforms/common_parameters.h"

enum { SIZE };

static int add(const struct transform *transform, struct steps *steps, struct fault *fault)
{
	const double *size = transform->values[SIZE].number;
	const int32_t crop[2] = {(int32_t)size[1], (int32_t)size[0]};
	int32_t offset[2];
	(void)fault;
	for (int i = 0; i < 2; i++) {
		int32_t rest = steps->size[i] - crop[i];
		/* The larger half of a padding is on the right; a crop is rounded as in Python. */
		offset[i] = rest < 0 ? -(-rest / 2) : (int32_t)round_even(rest / 2.0);
	}
	steps_add_window(steps, offset[0], offset[1], crop[0], crop[1]);
	return 0;
}

const struct transform_row transform_center_crop = {
	.name = "CenterCrop",
	.parameters = {[SIZE] = COMMON_SIZE(PARAMETER_SIZE)},
	.add = add,
	.fixes_size = true,
	.wide = true,
};
