/* SPDX-License-Identifier: MIT */
/* The length of runs in the order of Buckets, which is a parameter of theirs. */
#ifndef STOKER_TRANSFORM_TRANSFORMS_BUCKETS_H
#define STOKER_TRANSFORM_TRANSFORMS_BUCKETS_H

#include "transform/transform.h"

/* The parameter, of a checked transform with sizes; its count is 0 until somebody sets it. */
static inline struct parameter *buckets_run(struct transform *transform)
{
	return &transform->values[7];
}

#endif
