// SPDX-License-Identifier: MIT
/* Pad: torchvision's. Draws nothing. */
#include "transform/registry.h"
#include "transform/transforms/common_parameters.h"

enum { PADDING, FILL, PADDING_MODE };

static int add(const struct transform *transform, struct steps *steps, struct fault *fault)
{
	return steps_add_pad(steps, "Pad", transform->values[PADDING].number,
			     (enum border)transform->values[PADDING_MODE].number[0],
			     transform->values[FILL].number, fault);
}

const struct transform_row transform_pad = {
	.name = "Pad",
	.parameters =
		{
			[PADDING] = {.name = "padding",
				     .type = PARAMETER_PADDING,
				     .required = true,
				     .most = TRANSFORM_EDGE_MAX},
			[FILL] = COMMON_FILL,
			[PADDING_MODE] = COMMON_BORDER,
		},
	.add = add,
};
