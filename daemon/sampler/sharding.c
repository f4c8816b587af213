// SPDX-License-Identifier: MIT
#include "sampler/sharding.h"

#include <errno.h>
#include <stdlib.h>

/* The first entry of the sampler whose sample is not below `sample`. */
static uint64_t sampler_reaches(const struct sampler *sampler, uint64_t sample)
{
	uint64_t low = 0, high = sampler_entries(sampler);
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (sampler_sample(sampler, middle) < sample)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Rank of a sample among those of [first, first + count). */
static uint64_t range_reaches(uint64_t first, uint64_t count, uint64_t sample)
{
	if (sample <= first)
		return 0;
	return sample - first < count ? sample - first : count;
}

int sharding_new(struct shard_order **out, const struct dataset *dataset, uint64_t first,
		 uint64_t count, const struct sampler *sampler, uint64_t window,
		 struct fault *fault)
{
	uint32_t shards = dataset_shard_count(dataset);
	if (shards == 0)
		return fault_say(fault, SHARDING_E_ARGUMENT,
				 "order: 'shards' is for datasets that lie in shards, such as tar "
				 "or Parquet, and this one does not: leave it at 'global'");
	if (sampler && !sampler_is_sorted(sampler))
		return fault_say(fault, SHARDING_E_ARGUMENT,
				 "order: 'shards' goes with the samplers split and subset, with "
				 "indices that rise; not with this one (%s): take order 'global'",
				 sampler_name(sampler));
	uint64_t *begins = malloc(((size_t)shards + 1) * sizeof(*begins));
	if (!begins)
		return -ENOMEM;
	for (uint32_t i = 0; i <= shards; i++) {
		uint64_t sample = dataset_shard_first(dataset, i);
		begins[i] = sampler ? sampler_reaches(sampler, sample)
				    : range_reaches(first, count, sample);
	}
	int result = shard_order_new(out, begins, shards, window);
	free(begins);
	return result;
}
