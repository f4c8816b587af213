/* SPDX-License-Identifier: MIT */
/*
 * The order "shards" (base/shard_order.h) of what an epoch is made of: samples of a dataset that
 * has shards, or those that a sampler takes of it, in their order. Pure; any thread.
 */
#ifndef STOKER_SAMPLER_SHARDING_H
#define STOKER_SAMPLER_SHARDING_H

#include "base/fault.h"
#include "base/shard_order.h"
#include "dataset/dataset.h"
#include "sampler/sampler.h"

enum {
	SHARDING_E_ARGUMENT = 1, /* there are no shards, or the sampler takes no samples in order */
};

/* Order the samples [first, first + count), or the sampler's, which may be NULL. 0,
 * SHARDING_E_ARGUMENT or -ENOMEM. */
int sharding_new(struct shard_order **out, const struct dataset *dataset, uint64_t first,
		 uint64_t count, const struct sampler *sampler, uint64_t window,
		 struct fault *fault);

#endif
