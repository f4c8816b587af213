// SPDX-License-Identifier: MIT
/*
 * ReadAs: files of 16 bits and floats are read as they are, as Pillow's modes I;16 and F, and not
 * as pictures of 8 bits; of any number of channels, each of which is such a picture. What stands
 * behind it works on those. Draws nothing.
 */
#include "transform/registry.h"

enum { DTYPE, CHANNELS };

static int add(const struct transform *transform, struct steps *steps, struct fault *fault)
{
	(void)transform, (void)steps, (void)fault;
	return 0;
}

static struct image_form reads(const struct transform *transform)
{
	const struct parameter *channels = &transform->values[CHANNELS];
	return (struct image_form){(enum image_type)transform->values[DTYPE].number[0],
				   channels->count ? (uint32_t)channels->number[0] : 0};
}

static const char *const types[] = {[IMAGE_UINT16] = "uint16", [IMAGE_FLOAT32] = "float32"};
static const struct parameter_choices type_choices = {types, 3};

const struct transform_row transform_read_as = {
	.name = "ReadAs",
	.parameters =
		{
			[DTYPE] = {.name = "dtype",
				   .type = PARAMETER_CHOICE,
				   .required = true,
				   .choices = &type_choices},
			/* Of the pictures; None: of the first one. */
			[CHANNELS] = {.name = "channels",
				      .type = PARAMETER_WHOLE,
				      .optional = true,
				      .least = 1,
				      .most = IMAGE_CHANNELS_MAX},
		},
	.add = add,
	.reads = reads,
	.wide = true,
};
