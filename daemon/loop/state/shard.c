// SPDX-License-Identifier: MIT
#include "loop/state/shard.h"

static uint64_t divide_up(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

uint64_t share_global_batch(const struct share *share)
{
	return share->batch_size * share->world;
}

uint64_t share_batches(const struct share *share, uint64_t origin)
{
	if (origin >= share->n)
		return 0;
	uint64_t left = share->n - origin, global = share_global_batch(share);
	uint64_t before = share->rank * share->batch_size;
	switch (share->last) {
	case LAST_DROP:
		return left / global;
	case LAST_PAD:
		return divide_up(left, global);
	case LAST_SHORT:
		break;
	}
	return left <= before ? 0 : divide_up(left - before, global);
}

uint64_t share_extent(const struct share *share, uint64_t origin)
{
	if (share->last != LAST_PAD)
		return share->n;
	uint64_t global = share_global_batch(share);
	uint64_t whole = share_batches(share, 0) * global;
	uint64_t entered = origin + share_batches(share, origin) * global;
	return entered > whole ? entered : whole;
}

void share_settle(const struct share *share, struct cursor *cursor)
{
	if (cursor->batch < share_batches(share, cursor->origin))
		return;
	cursor->epoch++;
	cursor->origin = 0;
	cursor->batch = 0;
}

struct span share_span(const struct share *share, const struct cursor *cursor)
{
	struct span span = {
		.position = cursor->origin + cursor->batch * share_global_batch(share) +
			    share->rank * share->batch_size,
		.count = share->batch_size,
	};
	uint64_t end = span.position + span.count;
	if (end <= share->n)
		return span;
	if (share->last == LAST_PAD)
		span.padded = end - share->n < span.count ? end - share->n : span.count;
	else
		span.count = share->n - span.position;
	return span;
}

bool share_has(const struct share *share, const struct cursor *cursor, uint64_t epoch,
	       uint64_t position)
{
	bool now = epoch == cursor->epoch;
	uint64_t origin = now ? cursor->origin : 0, global = share_global_batch(share);
	if (epoch < cursor->epoch || position < origin ||
	    (position >= share->n && share->last != LAST_PAD))
		return false;
	uint64_t batch = (position - origin) / global;
	return (position - origin) % global / share->batch_size == share->rank &&
	       batch >= (now ? cursor->batch : 0) && batch < share_batches(share, origin);
}

void share_advance(const struct share *share, struct cursor *cursor)
{
	cursor->batch++;
	share_settle(share, cursor);
}

void share_resume(const struct share *share, const struct cursor *cursor, uint64_t *epoch_out,
		  uint64_t *position_out)
{
	uint64_t global = share_global_batch(share);
	uint64_t after = cursor->origin + (cursor->batch + 1) * global;
	bool over = after >= share->n || (share->last == LAST_DROP && share->n - after < global);
	*epoch_out = cursor->epoch + over;
	*position_out = over ? 0 : after;
}
