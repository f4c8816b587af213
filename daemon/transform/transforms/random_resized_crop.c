// SPDX-License-Identifier: MIT
/*
 * RandomResizedCrop: torchvision's. Draws, for try k = 0 to 9, until the crop fits:
 *	area = height * width * (scale[0] + uniform(4k) * (scale[1] - scale[0]))
 *	ratio = exp(log(ratio[0]) + uniform(4k + 1) * (log(ratio[1]) - log(ratio[0])))
 *	w = round(sqrt(area * ratio)), h = round(sqrt(area / ratio)), halves to even
 *	top = below(4k + 2, height - h + 1), left = below(4k + 3, width - w + 1)
 * in float64, exp and log from transform/portable_math.h.
 */
#include <math.h>

#include "transform/draws.h"
#include "transform/portable_math.h"
#include "transform/registry.h"
#include "transform/transforms/common_parameters.h"

enum { SIZE, SCALE, RATIO, INTERPOLATION, ANTIALIAS };

#define TRIES 10

/* Add the crop for when no try fits: the largest in the middle whose ratio is allowed. */
static int add_fallback(struct steps *steps, const double ratio[2], struct fault *fault)
{
	int32_t width = steps->size[0], height = steps->size[1];
	double shape = (double)width / (double)height, w = width, h = height;
	if (shape < ratio[0])
		h = round_even(width / ratio[0]);
	else if (shape > ratio[1])
		w = round_even(height * ratio[1]);
	if (w < 1 || h < 1)
		return fault_say(fault, STEPS_E_IMAGE,
				 "RandomResizedCrop finds no crop of its 'ratio' in a picture of "
				 "%d x %d: give wider bounds",
				 width, height);
	steps_add_window(steps, (width - (int32_t)w) / 2, (height - (int32_t)h) / 2, (int32_t)w,
			 (int32_t)h);
	return 0;
}

static int add_crop(const struct transform *transform, const struct draws *draws,
		    struct steps *steps, struct fault *fault)
{
	const double *ratio = transform->values[RATIO].number;
	const double *scale = transform->values[SCALE].number;
	const double width = steps->size[0], height = steps->size[1];
	const double logs[2] = {portable_log(ratio[0]), portable_log(ratio[1])};
	for (uint32_t n = 0; n < 4 * TRIES; n += 4) {
		double area = width * height * draws_between(draws, n, scale);
		double shape = portable_exp(draws_between(draws, n + 1, logs));
		double w = round_even(sqrt(area * shape)), h = round_even(sqrt(area / shape));
		if (!(w > 0 && w <= width && h > 0 && h <= height))
			continue;
		int32_t top = draws_below(draws, n + 2, (int32_t)(height - h) + 1);
		int32_t left = draws_below(draws, n + 3, (int32_t)(width - w) + 1);
		steps_add_window(steps, left, top, (int32_t)w, (int32_t)h);
		return 0;
	}
	return add_fallback(steps, ratio, fault);
}

static int draw(const struct transform *transform, const struct draws *draws, struct steps *steps,
		struct fault *fault)
{
	const double *size = transform->values[SIZE].number;
	int r = add_crop(transform, draws, steps, fault);
	if (r)
		return r;
	return steps_add_resize(steps, "RandomResizedCrop", size[1], size[0],
				(enum filter)transform->values[INTERPOLATION].number[0], fault);
}

const struct transform_row transform_random_resized_crop = {
	.name = "RandomResizedCrop",
	.parameters =
		{
			[SIZE] = COMMON_SIZE(PARAMETER_SIZE),
			[SCALE] = {.name = "scale",
				   .type = PARAMETER_INTERVAL,
				   .most = 100,
				   .standard = {2, {0.08, 1.0}}},
			[RATIO] = {.name = "ratio",
				   .type = PARAMETER_INTERVAL,
				   .least = 0.0001,
				   .most = 10000,
				   .standard = {2, {3.0 / 4.0, 4.0 / 3.0}}},
			[INTERPOLATION] = COMMON_FILTER,
			[ANTIALIAS] = COMMON_ANTIALIAS,
		},
	.draw = draw,
	.pictures_only = true,
	.fixes_size = true,
	.wide = true,
};
