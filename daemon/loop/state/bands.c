// SPDX-License-Identifier: MIT
#include "loop/state/bands.h"

#include <errno.h>
#include <stdlib.h>

bool bands_suit(const struct share *share, const struct cursor *from)
{
	return share->world > 1 && share->last != LAST_WRAP &&
	       from->origin % share_global_batch(share) == 0;
}

int bands_init(struct bands *bands, const struct share *share, const struct cursor *from)
{
	*bands = BANDS_ALL;
	if (!bands_suit(share, from))
		return 0;
	bands->rank = calloc(share->world, 1);
	if (!bands->rank)
		return -ENOMEM;
	bands->batch_size = share->batch_size;
	bands->world = share->world;
	bands->rank[share->rank] = 1;
	return 0;
}

void bands_deinit(struct bands *bands)
{
	free(bands->rank);
	*bands = BANDS_ALL;
}

/* Has each of its ranks one of these bands? */
static bool bands_match(const struct bands *bands, const struct share *share,
			const struct cursor *from)
{
	return bands_suit(share, from) && share->batch_size == bands->batch_size &&
	       share->world == bands->world;
}

bool bands_have(const struct bands *bands, const struct share *share, const struct cursor *from)
{
	if (!bands->rank)
		return true;
	return bands_match(bands, share, from) && bands->rank[share->rank];
}

void bands_add(struct bands *bands, const struct share *share, const struct cursor *from)
{
	if (!bands->rank)
		return;
	if (bands_match(bands, share, from))
		bands->rank[share->rank] = 1;
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
