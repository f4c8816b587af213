// SPDX-License-Identifier: MIT
#include "loop/state/bands.h"

#include <errno.h>
#include <stdlib.h>

bool bands_suit(const struct shard *shard, const struct cursor *from)
{
	return shard->world > 1 && shard->last != LAST_WRAP &&
	       from->origin % shard_global_batch(shard) == 0;
}

int bands_init(struct bands *bands, const struct shard *shard, const struct cursor *from)
{
	*bands = BANDS_ALL;
	if (!bands_suit(shard, from))
		return 0;
	bands->rank = calloc(shard->world, 1);
	if (!bands->rank)
		return -ENOMEM;
	bands->batch_size = shard->batch_size;
	bands->world = shard->world;
	bands->rank[shard->rank] = 1;
	return 0;
}

void bands_deinit(struct bands *bands)
{
	free(bands->rank);
	*bands = BANDS_ALL;
}

/* Has each of its ranks one of these bands? */
static bool bands_match(const struct bands *bands, const struct shard *shard,
			const struct cursor *from)
{
	return bands_suit(shard, from) && shard->batch_size == bands->batch_size &&
	       shard->world == bands->world;
}

bool bands_have(const struct bands *bands, const struct shard *shard, const struct cursor *from)
{
	if (!bands->rank)
		return true;
	return bands_match(bands, shard, from) && bands->rank[shard->rank];
}

void bands_add(struct bands *bands, const struct shard *shard, const struct cursor *from)
{
	if (!bands->rank)
		return;
	if (bands_match(bands, shard, from))
		bands->rank[shard->rank] = 1;
	else
		bands_deinit(bands);
}

void bands_join(struct bands *bands, const struct bands *other)
{
	if (!bands->rank)
		return;
	if (!other->rank || other->batch_size != bands->batch_size ||
	    other->world != bands->world) {
		bands_deinit(bands);
		return;
	}
	for (uint64_t i = 0; i < bands->world; i++)
		bands->rank[i] |= other->rank[i];
}

uint64_t bands_count(const struct bands *bands)
{
	uint64_t count = 0;
	if (!bands->rank)
		return UINT64_MAX;
	for (uint64_t i = 0; i < bands->world; i++)
		count += bands->rank[i];
	return count;
}
