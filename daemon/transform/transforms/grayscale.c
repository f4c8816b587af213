// SPDX-License-Identifier: MIT
/* Grayscale: Pillow's luma in each of the three channels; of one channel the output writes the
 * first (transform_list.h). Draws nothing. */
#include "transform/registry.h"
#include "transform/transforms/colours.h"

enum { CHANNELS };

static int check(const struct transform *transform, struct fault *fault)
{
	if (transform->values[CHANNELS].number[0] != 2)
		return 0;
	return fault_say(fault, TRANSFORM_E_VALUE,
			 "Grayscale: 'num_output_channels' must be 1 or 3");
}

static int paint(const struct paint *paint)
{
	return paint_gray(paint, 0.0);
}

void colour_add_grayscale(struct steps *steps, double amount)
{
	steps_add_colour(steps, paint, 0, amount);
}

/* Channels of the array; the picture has three until it is written. */
static unsigned channels(const struct transform *transform)
{
	return (unsigned)transform->values[CHANNELS].number[0];
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
	.channels = channels,
	.pictures_only = true,
};
