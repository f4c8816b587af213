// SPDX-License-Identifier: MIT
/*
 * AutoAugment: torchvision's policies. Draws: row below(0, 25) of the policy; its operation i, 0 or
 * 1, is done if uniform(1 + i) <= its p, with the negative magnitude if below(3 + i, 2) is 0 and
 * the operation is a signed one.
 */
#include "transform/draws.h"
#include "transform/registry.h"
#include "transform/transforms/augment.h"
#include "transform/transforms/common_parameters.h"

enum { POLICY, INTERPOLATION, FILL };

enum policy {
	POLICY_IMAGENET,
	POLICY_CIFAR10,
	POLICY_SVHN,
	POLICIES,
};

#define POLICY_ROWS 25
#define POLICY_BINS 10

struct policy_entry {
	enum augment_operation operation;
	double p;
	int magnitude;
};

/* AUGMENT_ is left out. */
#define SHEAR_X AUGMENT_SHEAR_X
#define SHEAR_Y AUGMENT_SHEAR_Y
#define TRANSLATE_X AUGMENT_TRANSLATE_X
#define TRANSLATE_Y AUGMENT_TRANSLATE_Y
#define ROTATE AUGMENT_ROTATE
#define BRIGHTNESS AUGMENT_BRIGHTNESS
#define COLOR AUGMENT_COLOR
#define CONTRAST AUGMENT_CONTRAST
#define SHARPNESS AUGMENT_SHARPNESS
#define POSTERIZE AUGMENT_POSTERIZE
#define SOLARIZE AUGMENT_SOLARIZE
#define AUTO_CONTRAST AUGMENT_AUTO_CONTRAST
#define EQUALIZE AUGMENT_EQUALIZE
#define INVERT AUGMENT_INVERT

/* clang-format off */
static const struct policy_entry policies[POLICIES][POLICY_ROWS][2] = {
	[POLICY_IMAGENET] = {
		{{POSTERIZE, 0.4, 8}, {ROTATE, 0.6, 9}},
		{{SOLARIZE, 0.6, 5}, {AUTO_CONTRAST, 0.6, 0}},
		{{EQUALIZE, 0.8, 0}, {EQUALIZE, 0.6, 0}},
		{{POSTERIZE, 0.6, 7}, {POSTERIZE, 0.6, 6}},
		{{EQUALIZE, 0.4, 0}, {SOLARIZE, 0.2, 4}},
		{{EQUALIZE, 0.4, 0}, {ROTATE, 0.8, 8}},
		{{SOLARIZE, 0.6, 3}, {EQUALIZE, 0.6, 0}},
		{{POSTERIZE, 0.8, 5}, {EQUALIZE, 1.0, 0}},
		{{ROTATE, 0.2, 3}, {SOLARIZE, 0.6, 8}},
		{{EQUALIZE, 0.6, 0}, {POSTERIZE, 0.4, 6}},
		{{ROTATE, 0.8, 8}, {COLOR, 0.4, 0}},
		{{ROTATE, 0.4, 9}, {EQUALIZE, 0.6, 0}},
		{{EQUALIZE, 0.0, 0}, {EQUALIZE, 0.8, 0}},
		{{INVERT, 0.6, 0}, {EQUALIZE, 1.0, 0}},
		{{COLOR, 0.6, 4}, {CONTRAST, 1.0, 8}},
		{{ROTATE, 0.8, 8}, {COLOR, 1.0, 2}},
		{{COLOR, 0.8, 8}, {SOLARIZE, 0.8, 7}},
		{{SHARPNESS, 0.4, 7}, {INVERT, 0.6, 0}},
		{{SHEAR_X, 0.6, 5}, {EQUALIZE, 1.0, 0}},
		{{COLOR, 0.4, 0}, {EQUALIZE, 0.6, 0}},
		{{EQUALIZE, 0.4, 0}, {SOLARIZE, 0.2, 4}},
		{{SOLARIZE, 0.6, 5}, {AUTO_CONTRAST, 0.6, 0}},
		{{INVERT, 0.6, 0}, {EQUALIZE, 1.0, 0}},
		{{COLOR, 0.6, 4}, {CONTRAST, 1.0, 8}},
		{{EQUALIZE, 0.8, 0}, {EQUALIZE, 0.6, 0}},
	},
	[POLICY_CIFAR10] = {
		{{INVERT, 0.1, 0}, {CONTRAST, 0.2, 6}},
		{{ROTATE, 0.7, 2}, {TRANSLATE_X, 0.3, 9}},
		{{SHARPNESS, 0.8, 1}, {SHARPNESS, 0.9, 3}},
		{{SHEAR_Y, 0.5, 8}, {TRANSLATE_Y, 0.7, 9}},
		{{AUTO_CONTRAST, 0.5, 0}, {EQUALIZE, 0.9, 0}},
		{{SHEAR_Y, 0.2, 7}, {POSTERIZE, 0.3, 7}},
		{{COLOR, 0.4, 3}, {BRIGHTNESS, 0.6, 7}},
		{{SHARPNESS, 0.3, 9}, {BRIGHTNESS, 0.7, 9}},
		{{EQUALIZE, 0.6, 0}, {EQUALIZE, 0.5, 0}},
		{{CONTRAST, 0.6, 7}, {SHARPNESS, 0.6, 5}},
		{{COLOR, 0.7, 7}, {TRANSLATE_X, 0.5, 8}},
		{{EQUALIZE, 0.3, 0}, {AUTO_CONTRAST, 0.4, 0}},
		{{TRANSLATE_Y, 0.4, 3}, {SHARPNESS, 0.2, 6}},
		{{BRIGHTNESS, 0.9, 6}, {COLOR, 0.2, 8}},
		{{SOLARIZE, 0.5, 2}, {INVERT, 0.0, 0}},
		{{EQUALIZE, 0.2, 0}, {AUTO_CONTRAST, 0.6, 0}},
		{{EQUALIZE, 0.2, 0}, {EQUALIZE, 0.6, 0}},
		{{COLOR, 0.9, 9}, {EQUALIZE, 0.6, 0}},
		{{AUTO_CONTRAST, 0.8, 0}, {SOLARIZE, 0.2, 8}},
		{{BRIGHTNESS, 0.1, 3}, {COLOR, 0.7, 0}},
		{{SOLARIZE, 0.4, 5}, {AUTO_CONTRAST, 0.9, 0}},
		{{TRANSLATE_Y, 0.9, 9}, {TRANSLATE_Y, 0.7, 9}},
		{{AUTO_CONTRAST, 0.9, 0}, {SOLARIZE, 0.8, 3}},
		{{EQUALIZE, 0.8, 0}, {INVERT, 0.1, 0}},
		{{TRANSLATE_Y, 0.7, 9}, {AUTO_CONTRAST, 0.9, 0}},
	},
	[POLICY_SVHN] = {
		{{SHEAR_X, 0.9, 4}, {INVERT, 0.2, 0}},
		{{SHEAR_Y, 0.9, 8}, {INVERT, 0.7, 0}},
		{{EQUALIZE, 0.6, 0}, {SOLARIZE, 0.6, 6}},
		{{INVERT, 0.9, 0}, {EQUALIZE, 0.6, 0}},
		{{EQUALIZE, 0.6, 0}, {ROTATE, 0.9, 3}},
		{{SHEAR_X, 0.9, 4}, {AUTO_CONTRAST, 0.8, 0}},
		{{SHEAR_Y, 0.9, 8}, {INVERT, 0.4, 0}},
		{{SHEAR_Y, 0.9, 5}, {SOLARIZE, 0.2, 6}},
		{{INVERT, 0.9, 0}, {AUTO_CONTRAST, 0.8, 0}},
		{{EQUALIZE, 0.6, 0}, {ROTATE, 0.9, 3}},
		{{SHEAR_X, 0.9, 4}, {SOLARIZE, 0.3, 3}},
		{{SHEAR_Y, 0.8, 8}, {INVERT, 0.7, 0}},
		{{EQUALIZE, 0.9, 0}, {TRANSLATE_Y, 0.6, 6}},
		{{INVERT, 0.9, 0}, {EQUALIZE, 0.6, 0}},
		{{CONTRAST, 0.3, 3}, {ROTATE, 0.8, 4}},
		{{INVERT, 0.8, 0}, {TRANSLATE_Y, 0.0, 2}},
		{{SHEAR_Y, 0.7, 6}, {SOLARIZE, 0.4, 8}},
		{{INVERT, 0.6, 0}, {ROTATE, 0.8, 4}},
		{{SHEAR_Y, 0.3, 7}, {TRANSLATE_X, 0.9, 3}},
		{{SHEAR_X, 0.1, 6}, {INVERT, 0.6, 0}},
		{{SOLARIZE, 0.7, 2}, {TRANSLATE_Y, 0.6, 7}},
		{{SHEAR_Y, 0.8, 4}, {INVERT, 0.8, 0}},
		{{SHEAR_X, 0.7, 9}, {TRANSLATE_Y, 0.8, 3}},
		{{SHEAR_Y, 0.8, 5}, {AUTO_CONTRAST, 0.7, 0}},
		{{SHEAR_X, 0.7, 2}, {INVERT, 0.1, 0}},
	},
};
/* clang-format on */

static int draw(const struct transform *transform, const struct draws *draws, struct steps *steps,
		struct fault *fault)
{
	const struct parameter *values = transform->values;
	const struct warp_look look = warp_look_of(&values[INTERPOLATION], &values[FILL]);
	const unsigned policy = (unsigned)values[POLICY].number[0];
	const struct policy_entry *entry = policies[policy][draws_below(draws, 0, POLICY_ROWS)];
	struct augment_range ranges[AUGMENT_OPERATIONS];
	(void)fault;
	augment_ranges(ranges, steps->size);
	for (uint32_t i = 0; i < 2; i++, entry++) {
		if (draws_uniform(draws, 1 + i) <= entry->p)
			augment_add(steps, entry->operation, &ranges[entry->operation], POLICY_BINS,
				    entry->magnitude, draws_below(draws, 3 + i, 2) == 0, look);
	}
	return 0;
}

static const char *const names[POLICIES] = {
	[POLICY_IMAGENET] = "imagenet",
	[POLICY_CIFAR10] = "cifar10",
	[POLICY_SVHN] = "svhn",
};
static const struct parameter_choices choices = {names, POLICIES};

const struct transform_row transform_auto_augment = {
	.name = "AutoAugment",
	.parameters =
		{
			[POLICY] = {.name = "policy",
				    .type = PARAMETER_CHOICE,
				    .choices = &choices,
				    .standard = {1, {POLICY_IMAGENET}}},
			[INTERPOLATION] = COMMON_WARP_FILTER(FILTER_NEAREST),
			[FILL] = COMMON_FILL,
		},
	.draw = draw,
	.pictures_only = true,
};
