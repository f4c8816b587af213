/* SPDX-License-Identifier: MIT */
/*
 * The operations of AutoAugment, RandAugment and TrivialAugmentWide, as steps: torchvision's
 * _apply_op and the magnitudes of its _augmentation_space. A worker's thread.
 */
#ifndef STOKER_TRANSFORM_TRANSFORMS_AUGMENT_H
#define STOKER_TRANSFORM_TRANSFORMS_AUGMENT_H

#include "transform/steps.h"

/* In the order in which RandAugment and TrivialAugmentWide draw from them. */
enum augment_operation {
	AUGMENT_IDENTITY,
	AUGMENT_SHEAR_X,
	AUGMENT_SHEAR_Y,
	AUGMENT_TRANSLATE_X,
	AUGMENT_TRANSLATE_Y,
	AUGMENT_ROTATE,
	AUGMENT_BRIGHTNESS,
	AUGMENT_COLOR,
	AUGMENT_CONTRAST,
	AUGMENT_SHARPNESS,
	AUGMENT_POSTERIZE,
	AUGMENT_SOLARIZE,
	AUGMENT_AUTO_CONTRAST,
	AUGMENT_EQUALIZE,
	AUGMENT_DRAWN, /* how many they draw from */
	AUGMENT_INVERT = AUGMENT_DRAWN,
	AUGMENT_OPERATIONS,
};

/* Strengths of an operation: magnitudes from `first` to `last`, also negative ones. */
struct augment_range {
	float first, last;
	bool is_signed;
};

/* AutoAugment's and RandAugment's, which depend on the picture's size. */
void augment_ranges(struct augment_range ranges[AUGMENT_OPERATIONS], const int32_t size[2]);

/* Append an operation with magnitude number `at` of `bins` in `range`; `negative`: with its
 * opposite, if the range is signed. */
void augment_add(struct steps *steps, enum augment_operation operation,
		 const struct augment_range *range, int bins, int at, bool negative,
		 struct warp_look look);

#endif
