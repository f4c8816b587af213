/* SPDX-License-Identifier: MIT */
/*
 * The choice of a bucket, by the size of a picture: the one whose shape is nearest, so that the
 * least is cropped of a picture that is resized to cover it. Pure; any thread.
 */
#ifndef STOKER_SAMPLER_BUCKET_H
#define STOKER_SAMPLER_BUCKET_H

#include <stdint.h>

#include "base/image.h"

/* The bucket with the smallest |h * W - w * H| for a picture of w x h and buckets of W x H; of
 * several the last. This is find_nearest_bucket() of diffusers. `count` > 0. */
uint32_t bucket_nearest(const struct image_size *sizes, uint32_t count, struct image_size picture);

#endif
