// SPDX-License-Identifier: MIT
#include "survey/bucketing.h"

#include <errno.h>
#include <stdlib.h>

#include "sampler/bucket.h"

_Static_assert((int)BUCKETING_E_ARGUMENT == (int)SAMPLER_E_ARGUMENT &&
		       (int)BUCKETING_E_MEMORY == (int)SAMPLER_E_MEMORY,
	       "both come from one preparation");

static uint64_t entries_of(const struct bucketing_spec *spec, uint64_t count)
{
	uint64_t stop = spec->stop < count ? spec->stop : count;
	if (spec->sampler)
		return sampler_entries(spec->sampler);
	return stop > spec->start ? stop - spec->start : 0;
}

/* The bucket and the sample of each entry. */
struct entries {
	uint8_t *bucket;
	uint32_t *sample;
	uint64_t count;
};

static void entries_deinit(struct entries *entries)
{
	free(entries->bucket);
	free(entries->sample);
}

static int entries_choose(struct entries *entries, const struct bucketing_spec *spec,
			  const struct image_size *sizes)
{
	entries->bucket = malloc(entries->count);
	entries->sample = malloc(entries->count * sizeof(*entries->sample));
	if (!entries->bucket || !entries->sample)
		return -ENOMEM;
	for (uint64_t i = 0; i < entries->count; i++) {
		uint64_t sample =
			spec->sampler ? sampler_sample(spec->sampler, i) : spec->start + i;
		const struct image_size size = sizes[sample];
		entries->sample[i] = (uint32_t)sample;
		entries->bucket[i] =
			size.width ? (uint8_t)bucket_nearest(spec->size, spec->buckets, size) : 0;
	}
	return 0;
}

static int make_order(struct bucket_order **out, const struct bucketing_spec *spec,
		      struct entries *entries, const struct image_size *sizes)
{
	int r = entries_choose(entries, spec, sizes);
	if (r < 0)
		return r;
	const struct bucket_order_spec order = {
		.run = spec->run,
		.shuffle = spec->shuffle,
		.seed = spec->seed,
		.buckets = spec->buckets,
		.bucket = entries->bucket,
		.sample = entries->sample,
		.count = entries->count,
	};
	return bucket_order_new(out, &order);
}

int bucketing_make(struct bucket_order **out, const struct bucketing_spec *spec,
		   const struct picture_sizes_spec *pictures, struct fault *fault)
{
	uint64_t count = dataset_count(pictures->dataset);
	struct entries entries = {.count = entries_of(spec, count)};
	if (entries.count == 0)
		return fault_say(fault, BUCKETING_E_ARGUMENT,
				 "subset [%llu, %llu) has none of the %llu samples",
				 (unsigned long long)spec->start, (unsigned long long)spec->stop,
				 (unsigned long long)count);
	if (count > UINT32_MAX || entries.count * sizeof(uint32_t) > spec->max_bytes)
		return fault_say(fault, BUCKETING_E_MEMORY,
				 "Buckets: the order of %llu samples takes 4 bytes each, and %llu "
				 "bytes are left of what rings and orders may take: raise "
				 "ring-memory",
				 (unsigned long long)entries.count,
				 (unsigned long long)spec->max_bytes);
	struct image_size *sizes = malloc(count * sizeof(*sizes));
	int r = sizes ? picture_sizes_find(sizes, pictures, fault) : -ENOMEM;
	if (r > 0)
		r = r == PICTURE_SIZES_E_CANCELLED
			    ? fault_say(fault, BUCKETING_E_ARGUMENT, "the daemon is about to stop")
			    : BUCKETING_E_ARGUMENT;
	r = r ? r : make_order(out, spec, &entries, sizes);
	entries_deinit(&entries);
	free(sizes);
	return r;
}
