// SPDX-License-Identifier: MIT
/*
 * ConvertBoundingBoxFormat: torchvision v2's: boxes are given in this format. What stands behind it
 * does the same to them in any format. Draws nothing.
 */
#include "transform/registry.h"
#include "transform/steps.h"

enum { FORMAT };

static int add(const struct transform *transform, struct steps *steps, struct fault *fault)
{
	(void)fault;
	steps_add_boxes(steps, (struct box_rule){BOX_RULE_FORMATTED,
						 {transform->values[FORMAT].number[0]}});
	return 0;
}

static const char *const formats[] = {
	[BOX_XYXY] = "XYXY", [BOX_XYWH] = "XYWH", [BOX_CXCYWH] = "CXCYWH"};
static const struct parameter_choices format_choices = {formats, 3};

const struct transform_row transform_convert_bounding_box_format = {
	.name = "ConvertBoundingBoxFormat",
	.parameters = {[FORMAT] = {.name = "format",
				   .type = PARAMETER_CHOICE,
				   .required = true,
				   .choices = &format_choices}},
	.add = add,
	.needs_boxes = true,
	.wide = true,
};
