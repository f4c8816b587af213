/* SPDX-License-Identifier: MIT */
/* Shared parts of FiveCrop and TenCrop. A worker's thread. */
#ifndef STOKER_TRANSFORM_TRANSFORMS_FIVE_CROP_H
#define STOKER_TRANSFORM_TRANSFORMS_FIVE_CROP_H

#include "transform/draws.h"
#include "transform/steps.h"
#include "transform/transform.h"

/* Number of the crop that this sample is: a function of the view, not drawn. */
unsigned crop_of(const struct transform *transform, const struct draws *draws);
/* Crop number 0 to 4 of torchvision's five_crop(): the corners and the middle. The first parameter
 * is the size. 0 or STEPS_E_IMAGE. */
int crop_add(const struct transform *transform, unsigned crop, struct steps *steps,
	     struct fault *fault);

#endif
