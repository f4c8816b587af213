// SPDX-License-Identifier: MIT
/*
 * AspectResize: what Keras' load_img() does with keep_aspect_ratio: the largest part in the middle
 * of the picture that has the shape of the result is resized, by Pillow's box. Draws nothing.
 */
#include "transform/registry.h"
#include "transform/transforms/common_parameters.h"

enum { SIZE, INTERPOLATION };

/* The edge that goes with `other` for the ratio edge_out : other_out, but at most `edge`. */
static int32_t edge_kept(int32_t edge, int32_t other, int64_t edge_out, int64_t other_out)
{
	int64_t kept = other * edge_out / other_out;
	return kept < edge ? (int32_t)kept : edge;
}

static int add(const struct transform *transform, struct steps *steps, struct fault *fault)
{
	const double *size = transform->values[SIZE].number;
	const int64_t height = (int64_t)size[0], width = (int64_t)size[1];
	struct rect box = {
		.width = edge_kept(steps->size[0], steps->size[1], width, height),
		.height = edge_kept(steps->size[1], steps->size[0], height, width),
	};
	box.x = (steps->size[0] - box.width) / 2;
	box.y = (steps->size[1] - box.height) / 2;
	return steps_add_box_resize(steps, "AspectResize", &box, size[1], size[0],
				    (enum filter)transform->values[INTERPOLATION].number[0], fault);
}

const struct transform_row transform_aspect_resize = {
	.name = "AspectResize",
	.parameters = {[SIZE] = COMMON_SIZE(PARAMETER_SIZE), [INTERPOLATION] = COMMON_FILTER},
	.add = add,
	.pictures_only = true,
	.fixes_size = true,
	.resizes = true,
	.wide = true,
};
