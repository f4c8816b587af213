// SPDX-License-Identifier: MIT
/*
 * Any bytes as an index of a tar shard by DALI: what is accepted names ranges within the shard, one
 * behind the other, each with a header in it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "dataset/shards/shard_guide.h"
#include "tests/fuzz/fuzz.h"

FUZZ_TARGET(guide)
{
	const uint64_t shard_size = (uint64_t)1 << 20;
	struct dataset_spec spec = DATASET_SPEC_NULL;
	struct shard_guide guide = SHARD_GUIDE_NULL;
	struct roles roles;
	struct fault fault;
	uint64_t end = 0;
	require(roles_parse(&roles, &spec, &fault) == 0, "roles");
	int result = shard_guide_parse(&guide, (const char *)data, size, shard_size, &roles);
	require(result == 0 || (result == SHARD_GUIDE_E_BAD && !guide.ranges), "an odd result");
	require(guide.capacity * sizeof(*guide.ranges) <= SHARD_GUIDE_BYTES, "too much memory");
	for (uint64_t i = 0; i < guide.count; i++) {
		const struct shard_guide_range *range = &guide.ranges[i];
		require(range->offset >= end && range->size > 0 &&
				range->size <= shard_size - range->offset,
			"a range out of place");
		require(range->content == UINT64_MAX || range->header + TAR_BLOCK <= range->size,
			"a header out of its range");
		end = range->offset + range->size;
	}
	shard_guide_deinit(&guide);
	return 0;
}
