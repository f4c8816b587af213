/* SPDX-License-Identifier: MIT */
/*
 * AutoAugment, RandAugment and TrivialAugmentWide: which of torchvision's operations a picture
 * undergoes and how strongly, as steps. Knows no pixel. A worker's thread.
 */
#ifndef STOKER_TRANSFORM_AUTO_AUGMENT_H
#define STOKER_TRANSFORM_AUTO_AUGMENT_H

#include "transform/step.h"

enum augment_policy {
	AUGMENT_IMAGENET,
	AUGMENT_CIFAR10,
	AUGMENT_SVHN,
};

steps_function augment_add_auto, augment_add_rand, augment_add_trivial;

#endif
