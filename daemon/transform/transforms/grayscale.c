// SPDX-License-Identifier: MIT
/* Grayscale: Pillow's luma in each of the three channels. Draws nothing. */
#include "transform/registry.h"
#include "transform/transforms/colours.h"

enum { CHANNELS };

/* torchvision's default is one channel; a sample always has three. */
static int check(const struct transform *transform, struct fault *fault)
{
	if (transform->values[CHANNELS].number[0] == 3)
		return 0;
	return fault_say(fault, TRANSFORM_E_VALUE,
			 "Grayscale: a sample has 3 channels: 'num_output_channels' must be 3");
}

static int paint(const struct paint *paint)
{
	return paint_gray(paint, 0.0);
}

void colour_add_grayscale(struct steps *steps, double amount)
{
	steps_add_colour(steps, paint, 0, amount);
}

static int add(const struct transform *transform, struct steps *steps, struct fault *fault)
{
	(void)transform;
	(void)fault;
	colour_add_grayscale(steps, 0.0);
	return 0;
}

const struct transform_row transform_grayscale = {
	.name = "Grayscale",
	.parameters =
		{
			[CHANNELS] = {.name = "num_output_channels",
				      .type = PARAMETER_WHOLE,
				      .least = 1,
				      .most = 3,
				      .standard = {1, {1}}},
		},
	.check = check,
	.add = add,
	.pictures_only = true,
};
