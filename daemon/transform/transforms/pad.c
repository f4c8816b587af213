// SPDX-License-Identifier: MIT
/*
 * Pad: torchvision's; or to a size: at the right and at the bottom, or all around, the larger half
 * of an odd number at the right and at the bottom. Draws nothing.
 */
#include "transform/registry.h"
#include "transform/transforms/common_parameters.h"

enum { PADDING, FILL, PADDING_MODE, TO, CENTER };

static int check(const struct transform *transform, struct fault *fault)
{
	const struct parameter *values = transform->values;
	if (values[PADDING].count == 0 && values[TO].count == 0)
		return fault_say(fault, TRANSFORM_E_VALUE,
				 "Pad needs 'padding', or 'to' for a size: (height, width)");
	if (values[PADDING].count && values[TO].count)
		return fault_say(fault, TRANSFORM_E_VALUE,
				 "Pad: 'padding' and 'to' cannot be combined: give one of them");
	if (values[CENTER].number[0] != 0.0 && values[TO].count == 0)
		return fault_say(fault, TRANSFORM_E_VALUE,
				 "Pad: 'center' goes with 'to': give 'to', or leave it out");
	return 0;
}

static bool pads(const struct transform *transform)
{
	return transform->values[TO].count > 0;
}

static int add_to(const struct transform *transform, struct steps *steps, struct fault *fault)
{
	const double *to = transform->values[TO].number;
	const int32_t missing[2] = {(int32_t)to[1] - steps->size[0],
				    (int32_t)to[0] - steps->size[1]};
	const bool center = transform->values[CENTER].number[0] != 0.0;
	double padding[4];
	if (missing[0] < 0 || missing[1] < 0)
		return fault_say(fault, STEPS_E_IMAGE,
				 "Pad to %.0f x %.0f (width x height) is smaller than the picture, "
				 "%d x %d: put a Resize with 'max_size' before it",
				 to[1], to[0], steps->size[0], steps->size[1]);
	for (int i = 0; i < 2; i++) {
		padding[i] = center ? missing[i] / 2 : 0;
		padding[i + 2] = missing[i] - padding[i];
	}
	return steps_add_pad(steps, "Pad", padding,
			     (enum border)transform->values[PADDING_MODE].number[0],
			     transform->values[FILL].number, fault);
}

static int add(const struct transform *transform, struct steps *steps, struct fault *fault)
{
	if (transform->values[TO].count)
		return add_to(transform, steps, fault);
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
				     .optional = true,
				     .most = TRANSFORM_EDGE_MAX},
			[FILL] = COMMON_FILL,
			[PADDING_MODE] = COMMON_BORDER,
			[TO] = {.name = "to",
				.type = PARAMETER_SIZE,
				.optional = true,
				.later = true,
				.least = 1,
				.most = TRANSFORM_EDGE_MAX},
			[CENTER] = {.name = "center",
				    .type = PARAMETER_BOOLEAN,
				    .later = true,
				    .standard = {1, {false}}},
		},
	.check = check,
	.add = add,
	.pads = pads,
	.fixes_size = true,
	.refuses_size = true,
	.wide = true,
};
