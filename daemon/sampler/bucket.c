// SPDX-License-Identifier: MIT
#include "sampler/bucket.h"

uint32_t bucket_nearest(const struct image_size *sizes, uint32_t count, struct image_size picture)
{
	int64_t least = INT64_MAX;
	uint32_t nearest = 0;
	for (uint32_t i = 0; i < count; i++) {
		int64_t far = (int64_t)picture.height * sizes[i].width -
			      (int64_t)picture.width * sizes[i].height;
		far = far < 0 ? -far : far;
		if (far <= least) {
			least = far;
			nearest = i;
		}
	}
	return nearest;
}
