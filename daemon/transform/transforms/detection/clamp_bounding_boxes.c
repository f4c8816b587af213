// SPDX-License-Identifier: MIT
/* ClampBoundingBoxes: torchvision v2's: clips boxes to the picture. Draws nothing. */
#include "transform/registry.h"
#include "transform/steps.h"

static int add(const struct transform *transform, struct steps *steps, struct fault *fault)
{
	(void)transform, (void)fault;
	steps_add_boxes(steps, (struct box_rule){.kind = BOX_RULE_CLAMPED});
	return 0;
}

const struct transform_row transform_clamp_bounding_boxes = {
	.name = "ClampBoundingBoxes",
	.add = add,
	.needs_boxes = true,
	.wide = true,
};
