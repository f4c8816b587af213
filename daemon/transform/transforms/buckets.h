/* SPDX-License-Identifier: MIT */
/* Parameters of Buckets that pipelines look at, by their place in `values`. */
#ifndef STOKER_TRANSFORM_TRANSFORMS_BUCKETS_H
#define STOKER_TRANSFORM_TRANSFORMS_BUCKETS_H

enum {
	BUCKETS_SIZES = 0,
	BUCKETS_RUN = 7, /* positions; its count is 0 until somebody sets it */
};

#endif
