// SPDX-License-Identifier: MIT
/*
 * RandAugment: torchvision's. Draws: operation i is number below(2i, 14), with the negative
 * magnitude if below(2i + 1, 2) is 1 and the operation is a signed one.
 */
#include "transform/draws.h"
#include "transform/registry.h"
#include "transform/transforms/augment.h"
#include "transform/transforms/common_parameters.h"

enum { NUM_OPS, MAGNITUDE, BINS, INTERPOLATION, FILL };

static int check(const struct transform *transform, struct fault *fault)
{
	if (transform->values[MAGNITUDE].number[0] >= transform->values[BINS].number[0])
		return fault_say(fault, TRANSFORM_E_VALUE,
				 "RandAugment: 'magnitude' must be less than 'num_magnitude_bins'");
	return 0;
}

static int draw(const struct transform *transform, const struct draws *draws, struct steps *steps,
		struct fault *fault)
{
	const struct parameter *values = transform->values;
	const struct warp_look look = warp_look_of(&values[INTERPOLATION], &values[FILL]);
	const uint32_t count = (uint32_t)values[NUM_OPS].number[0];
	const int bins = (int)values[BINS].number[0], at = (int)values[MAGNITUDE].number[0];
	struct augment_range ranges[AUGMENT_OPERATIONS];
	(void)fault;
	augment_ranges(ranges, steps->size);
	for (uint32_t i = 0; i < count; i++) {
		enum augment_operation operation =
			(enum augment_operation)draws_below(draws, 2 * i, AUGMENT_DRAWN);
		augment_add(steps, operation, &ranges[operation], bins, at,
			    draws_below(draws, 2 * i + 1, 2) == 1, look);
	}
	return 0;
}

const struct transform_row transform_rand_augment = {
	.name = "RandAugment",
	.parameters =
		{
			[NUM_OPS] = {.name = "num_ops",
				     .type = PARAMETER_WHOLE,
				     .most = 16,
				     .standard = {1, {2}}},
			[MAGNITUDE] = {.name = "magnitude",
				       .type = PARAMETER_WHOLE,
				       .most = 999,
				       .standard = {1, {9}}},
			[BINS] = COMMON_BINS,
			[INTERPOLATION] = COMMON_WARP_FILTER(FILTER_NEAREST),
			[FILL] = COMMON_FILL,
		},
	.check = check,
	.draw = draw,
	.pictures_only = true,
};
