// SPDX-License-Identifier: MIT
/*
 * TrivialAugmentWide: torchvision's. Draws: operation below(0, 14), magnitude below(1, bins),
 * negative if below(2, 2) is 1 and the operation is a signed one.
 */
#include "transform/draws.h"
#include "transform/registry.h"
#include "transform/transforms/augment.h"
#include "transform/transforms/common_parameters.h"

enum { BINS, INTERPOLATION, FILL };

static const struct augment_range ranges[AUGMENT_OPERATIONS] = {
	[AUGMENT_SHEAR_X] = {0, 0.99f, true},	[AUGMENT_SHEAR_Y] = {0, 0.99f, true},
	[AUGMENT_TRANSLATE_X] = {0, 32, true},	[AUGMENT_TRANSLATE_Y] = {0, 32, true},
	[AUGMENT_ROTATE] = {0, 135, true},	[AUGMENT_BRIGHTNESS] = {0, 0.99f, true},
	[AUGMENT_COLOR] = {0, 0.99f, true},	[AUGMENT_CONTRAST] = {0, 0.99f, true},
	[AUGMENT_SHARPNESS] = {0, 0.99f, true}, [AUGMENT_POSTERIZE] = {8, 2, false},
	[AUGMENT_SOLARIZE] = {255, 0, false},
};

static int draw(const struct transform *transform, const struct draws *draws, struct steps *steps,
		struct fault *fault)
{
	const struct parameter *values = transform->values;
	const int bins = (int)values[BINS].number[0];
	enum augment_operation operation =
		(enum augment_operation)draws_below(draws, 0, AUGMENT_DRAWN);
	(void)fault;
	augment_add(steps, operation, &ranges[operation], bins, draws_below(draws, 1, bins),
		    draws_below(draws, 2, 2) == 1,
		    warp_look_of(&values[INTERPOLATION], &values[FILL]));
	return 0;
}

const struct transform_row transform_trivial_augment_wide = {
	.name = "TrivialAugmentWide",
	.parameters =
		{
			[BINS] = COMMON_BINS,
			[INTERPOLATION] = COMMON_WARP_FILTER(FILTER_NEAREST),
			[FILL] = COMMON_FILL,
		},
	.draw = draw,
	.pictures_only = true,
};
