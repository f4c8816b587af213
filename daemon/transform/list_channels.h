/* SPDX-License-Identifier: MIT */
/*
 * The channels of the images that a list of transforms makes: one behind a Grayscale, four of
 * pictures with alpha. Checks that the transforms can take them. Any thread.
 */
#ifndef STOKER_TRANSFORM_LIST_CHANNELS_H
#define STOKER_TRANSFORM_LIST_CHANNELS_H

#include "transform/transform_list.h"

/* Sets `gray`, `alpha` and `filtered`. 0 or TRANSFORM_LIST_E_TRANSFORM. */
int list_channels_check(struct transform_list *list, struct fault *fault);

#endif
