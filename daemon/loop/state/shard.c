// SPDX-License-Identifier: MIT
#include "loop/state/shard.h"

static uint64_t divide_up(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

uint64_t shard_global_batch(const struct shard *shard)
{
	return shard->batch_size * shard->world;
}

uint64_t shard_batches(const struct shard *shard, uint64_t origin)
{
	if (origin >= shard->n)
		return 0;
	uint64_t left = shard->n - origin, global = shard_global_batch(shard);
	uint64_t before = shard->rank * shard->batch_size;
	switch (shard->last) {
	case LAST_DROP:
		return left / global;
	case LAST_PAD:
		return divide_up(left, global);
	case LAST_SHORT:
		break;
	}
	return left <= before ? 0 : divide_up(left - before, global);
}

uint64_t shard_extent(const struct shard *shard, uint64_t origin)
{
	if (shard->last != LAST_PAD)
		return shard->n;
	uint64_t global = shard_global_batch(shard);
	uint64_t whole = shard_batches(shard, 0) * global;
	uint64_t entered = origin + shard_batches(shard, origin) * global;
	return entered > whole ? entered : whole;
}

void shard_settle(const struct shard *shard, struct cursor *cursor)
{
	if (cursor->batch < shard_batches(shard, cursor->origin))
		return;
	cursor->epoch++;
	cursor->origin = 0;
	cursor->batch = 0;
}

struct batch_span shard_span(const struct shard *shard, const struct cursor *cursor)
{
	struct batch_span span = {
		.position = cursor->origin + cursor->batch * shard_global_batch(shard) +
			    shard->rank * shard->batch_size,
		.count = shard->batch_size,
	};
	uint64_t end = span.position + span.count;
	if (end <= shard->n)
		return span;
	if (shard->last == LAST_PAD)
		span.padded = end - shard->n < span.count ? end - shard->n : span.count;
	else
		span.count = shard->n - span.position;
	return span;
}

bool shard_has(const struct shard *shard, const struct cursor *cursor, uint64_t epoch,
	       uint64_t position)
{
	bool now = epoch == cursor->epoch;
	uint64_t origin = now ? cursor->origin : 0, global = shard_global_batch(shard);
	if (epoch < cursor->epoch || position < origin ||
	    (position >= shard->n && shard->last != LAST_PAD))
		return false;
	uint64_t batch = (position - origin) / global;
	return (position - origin) % global / shard->batch_size == shard->rank &&
	       batch >= (now ? cursor->batch : 0) && batch < shard_batches(shard, origin);
}

void shard_advance(const struct shard *shard, struct cursor *cursor)
{
	cursor->batch++;
	shard_settle(shard, cursor);
}

void shard_resume(const struct shard *shard, const struct cursor *cursor, uint64_t *epoch_out,
		  uint64_t *position_out)
{
	uint64_t global = shard_global_batch(shard);
	uint64_t after = cursor->origin + (cursor->batch + 1) * global;
	bool over = after >= shard->n || (shard->last == LAST_DROP && shard->n - after < global);
	*epoch_out = cursor->epoch + over;
	*position_out = over ? 0 : after;
}
