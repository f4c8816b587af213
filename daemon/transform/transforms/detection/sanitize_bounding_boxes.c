// SPDX-License-Identifier: MIT
/*
 * SanitizeBoundingBoxes: torchvision v2's: drops boxes that are too small or reach out of the
 * picture. A dropped box becomes NaN in its place, so that labels need not be dropped with it.
 * Draws nothing.
 */
#include "transform/registry.h"
#include "transform/steps.h"

enum { MIN_SIZE, MIN_AREA, LABELS_GETTER };

static int add(const struct transform *transform, struct steps *steps, struct fault *fault)
{
	(void)fault;
	steps_add_boxes(steps, (struct box_rule){BOX_RULE_SANE,
						 {transform->values[MIN_SIZE].number[0],
						  transform->values[MIN_AREA].number[0]}});
	return 0;
}

static const char *const getters[] = {"default"};
static const struct parameter_choices getter_choices = {getters, 1};

const struct transform_row transform_sanitize_bounding_boxes = {
	.name = "SanitizeBoundingBoxes",
	.parameters =
		{
			[MIN_SIZE] = {.name = "min_size",
				      .type = PARAMETER_NUMBER,
				      .least = 1,
				      .most = 1e9,
				      .standard = {1, {1}}},
			[MIN_AREA] = {.name = "min_area",
				      .type = PARAMETER_NUMBER,
				      .least = 1,
				      .most = 1e18,
				      .standard = {1, {1}}},
			[LABELS_GETTER] = {.name = "labels_getter",
					   .type = PARAMETER_CHOICE,
					   .optional = true,
					   .choices = &getter_choices,
					   .standard = {1, {0}}},
		},
	.add = add,
	.needs_boxes = true,
	.wide = true,
};
