// SPDX-License-Identifier: MIT
#include "loop/state/shard.h"

#include <assert.h>

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
	case LAST_WRAP:
		return divide_up(left, global);
	case LAST_SHORT:
		break;
	}
	return left <= before ? 0 : divide_up(left - before, global);
}

/* One past the highest position that any epoch of this share touches, but for wrapped ones. */
static uint64_t shard_extent(const struct shard *shard, uint64_t origin)
{
	if (shard->last == LAST_SHORT || shard->last == LAST_WRAP)
		return shard->n;
	uint64_t global = shard_global_batch(shard);
	uint64_t whole = shard_batches(shard, 0) * global;
	uint64_t entered = origin + shard_batches(shard, origin) * global;
	return entered > whole ? entered : whole;
}

uint64_t shard_stride_alone(const struct shard *shard, uint64_t origin)
{
	uint64_t global = shard_global_batch(shard), extent = shard_extent(shard, origin);
	return shard->last == LAST_WRAP ? extent : divide_up(extent, global) * global;
}

uint64_t shard_stride(const struct shard *shard, uint64_t origin)
{
	uint64_t global = shard_global_batch(shard);
	return shard->last == LAST_DROP ? divide_up(shard->n, global) * global
					: shard_stride_alone(shard, origin);
}

bool shard_fits(const struct shard *shard, uint64_t origin, uint64_t stride)
{
	uint64_t extent = shard_extent(shard, origin);
	return shard->last == LAST_WRAP ? extent == stride : extent <= stride;
}

void shard_settle(const struct shard *shard, struct cursor *cursor)
{
	uint64_t end = cursor->origin + cursor->batch * shard_global_batch(shard);
	if (cursor->batch < shard_batches(shard, cursor->origin))
		return;
	cursor->epoch++;
	cursor->origin = shard->last == LAST_WRAP ? end - shard->n : 0;
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
	uint64_t beyond = end - shard->n < span.count ? end - shard->n : span.count;
	if (shard->last == LAST_PAD)
		span.padded = beyond;
	else if (shard->last == LAST_WRAP)
		span.wrapped = beyond;
	else
		span.count -= beyond;
	return span;
}

struct place shard_place(const struct shard *shard, uint64_t epoch, uint64_t position)
{
	if (shard->last == LAST_WRAP && position >= shard->n)
		return (struct place){epoch + 1, position - shard->n};
	return (struct place){epoch, position};
}

uint64_t shard_ordinal(const struct shard *shard, const struct cursor *cursor, uint64_t stride)
{
	assert(shard_fits(shard, cursor->origin, stride));
	return cursor->epoch * stride + shard_span(shard, cursor).position;
}

/* Is the position so far behind where its epoch was entered in a batch of this rank? */
static bool shard_takes(const struct shard *shard, uint64_t offset)
{
	return offset % shard_global_batch(shard) / shard->batch_size == shard->rank;
}

/* The batches run on from epoch to epoch: one belongs to that in which its global batch begins. */
static bool shard_has_wrapped(const struct shard *shard, const struct cursor *cursor, uint64_t end,
			      uint64_t epoch, uint64_t position)
{
	uint64_t global = shard_global_batch(shard);
	uint64_t at = (epoch - cursor->epoch) * shard->n + position;
	if (at < cursor->origin || position >= shard->n)
		return false;
	uint64_t offset = at - cursor->origin, first = at - offset % global;
	return shard_takes(shard, offset) && offset / global >= cursor->batch &&
	       cursor->epoch + first / shard->n < end;
}

bool shard_has(const struct shard *shard, const struct cursor *cursor, uint64_t end, uint64_t epoch,
	       uint64_t position)
{
	if (epoch < cursor->epoch)
		return false;
	if (shard->last == LAST_WRAP)
		return shard_has_wrapped(shard, cursor, end, epoch, position);
	bool now = epoch == cursor->epoch;
	uint64_t origin = now ? cursor->origin : 0;
	if (epoch >= end || position < origin || (position >= shard->n && shard->last != LAST_PAD))
		return false;
	uint64_t batch = (position - origin) / shard_global_batch(shard);
	return shard_takes(shard, position - origin) && batch >= (now ? cursor->batch : 0) &&
	       batch < shard_batches(shard, origin);
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
	*position_out = !over ? after : shard->last == LAST_WRAP ? after - shard->n : 0;
}
