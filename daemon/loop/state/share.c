// SPDX-License-Identifier: MIT
#include "loop/state/share.h"

#include <assert.h>

#include "sampler/bucket_order.h"

static uint64_t divide_up(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

uint64_t share_global_batch(const struct share *share)
{
	return share->batch_size * share->world;
}

/* -- buckets ------------------------------------------------------------------------------ */

bool share_may_enter(const struct share *share, uint64_t origin)
{
	if (!share->buckets)
		return true;
	uint64_t run = bucket_order_run_length(share->buckets);
	return (run - origin % run) % share_global_batch(share) == 0;
}

uint64_t share_entry(const struct share *share, uint64_t origin)
{
	return share_may_enter(share, origin)
		       ? origin
		       : origin - origin % bucket_order_run_length(share->buckets);
}

/* Samples from a position on to the end of its run; 0: it is behind them. */
static uint64_t run_left(const struct share *share, uint64_t epoch, uint64_t position)
{
	const struct bucket_run run = bucket_order_run(share->buckets, (uint32_t)epoch, position);
	uint64_t at = position % bucket_order_run_length(share->buckets);
	return run.samples > at ? run.samples - at : 0;
}

/* Is there a batch of all ranks where the run has so many samples left? */
static bool left_is_batch(const struct share *share, uint64_t left)
{
	return left >= (share->last == LAST_DROP ? share_global_batch(share) : 1);
}

/* Samples of each rank in the global batch that begins where so many are left of the run. */
static uint64_t left_each(const struct share *share, uint64_t left)
{
	if (share->last != LAST_SHORT || left >= share_global_batch(share))
		return share->batch_size;
	return divide_up(left, share->world);
}

/* Batches of a whole epoch, which all ranks have. */
static uint64_t bucket_batches(const struct share *share)
{
	const struct bucket_order *buckets = share->buckets;
	uint64_t batches = 0, global = share_global_batch(share);
	for (uint32_t i = 0; i < bucket_order_buckets(buckets); i++) {
		uint64_t count = bucket_order_count(buckets, i);
		batches += share->last == LAST_DROP ? count / global : divide_up(count, global);
	}
	return batches;
}

/* Move to the first batch from the cursor's on that is not behind its run's samples. */
static void bucket_settle(const struct share *share, struct cursor *cursor)
{
	uint64_t run = bucket_order_run_length(share->buckets), global = share_global_batch(share);
	for (;;) {
		uint64_t at = cursor->origin + cursor->batch * global;
		if (at >= share->n)
			*cursor = (struct cursor){cursor->epoch + 1, 0, 0};
		else if (left_is_batch(share, run_left(share, cursor->epoch, at)))
			return;
		else
			cursor->batch += (run - at % run) / global;
	}
}

static struct batch_span bucket_span(const struct share *share, const struct cursor *cursor)
{
	uint64_t at = cursor->origin + cursor->batch * share_global_batch(share);
	uint64_t left = run_left(share, cursor->epoch, at), each = left_each(share, left);
	uint64_t before = share->rank * each, end = before + each;
	uint64_t beyond = end > left ? end - left : 0;
	return (struct batch_span){
		.position = at + before, .count = each, .padded = beyond < each ? beyond : each};
}

static bool bucket_has(const struct share *share, const struct cursor *cursor, uint64_t end,
		       uint64_t epoch, uint64_t position)
{
	bool now = epoch == cursor->epoch;
	uint64_t origin = now ? cursor->origin : 0, global = share_global_batch(share);
	if (epoch < cursor->epoch || epoch >= end || position < origin || position >= share->n)
		return false;
	uint64_t batch = (position - origin) / global, at = origin + batch * global;
	uint64_t left = run_left(share, epoch, at);
	return batch >= (now ? cursor->batch : 0) && left_is_batch(share, left) &&
	       (position - at) / left_each(share, left) == share->rank;
}

/* -- all ---------------------------------------------------------------------------------- */

uint64_t share_batches(const struct share *share, uint64_t origin)
{
	if (share->buckets)
		return bucket_batches(share);
	if (origin >= share->n)
		return 0;
	uint64_t left = share->n - origin, global = share_global_batch(share);
	uint64_t before = share->rank * share->batch_size;
	switch (share->last) {
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
static uint64_t share_extent(const struct share *share, uint64_t origin)
{
	if (share->last == LAST_SHORT || share->last == LAST_WRAP || share->buckets)
		return share->n;
	uint64_t global = share_global_batch(share);
	uint64_t whole = share_batches(share, 0) * global;
	uint64_t entered = origin + share_batches(share, origin) * global;
	return entered > whole ? entered : whole;
}

uint64_t share_stride_alone(const struct share *share, uint64_t origin)
{
	uint64_t global = share_global_batch(share), extent = share_extent(share, origin);
	return share->last == LAST_WRAP ? extent : divide_up(extent, global) * global;
}

uint64_t share_stride(const struct share *share, uint64_t origin)
{
	uint64_t global = share_global_batch(share);
	return share->last == LAST_DROP ? divide_up(share->n, global) * global
					: share_stride_alone(share, origin);
}

bool share_fits(const struct share *share, uint64_t origin, uint64_t stride)
{
	uint64_t extent = share_extent(share, origin);
	return share->last == LAST_WRAP ? extent == stride : extent <= stride;
}

void share_settle(const struct share *share, struct cursor *cursor)
{
	uint64_t end = cursor->origin + cursor->batch * share_global_batch(share);
	if (share->buckets) {
		bucket_settle(share, cursor);
		return;
	}
	if (cursor->batch < share_batches(share, cursor->origin))
		return;
	cursor->epoch++;
	cursor->origin = share->last == LAST_WRAP ? end - share->n : 0;
	cursor->batch = 0;
}

struct batch_span share_span(const struct share *share, const struct cursor *cursor)
{
	if (share->buckets)
		return bucket_span(share, cursor);
	struct batch_span span = {
		.position = cursor->origin + cursor->batch * share_global_batch(share) +
			    share->rank * share->batch_size,
		.count = share->batch_size,
	};
	uint64_t end = span.position + span.count;
	if (end <= share->n)
		return span;
	uint64_t beyond = end - share->n < span.count ? end - share->n : span.count;
	if (share->last == LAST_PAD)
		span.padded = beyond;
	else if (share->last == LAST_WRAP)
		span.wrapped = beyond;
	else
		span.count -= beyond;
	return span;
}

struct place share_place(const struct share *share, uint64_t epoch, uint64_t position)
{
	if (share->last == LAST_WRAP && position >= share->n)
		return (struct place){epoch + 1, position - share->n};
	return (struct place){epoch, position};
}

uint64_t share_ordinal(const struct share *share, const struct cursor *cursor, uint64_t stride)
{
	assert(share_fits(share, cursor->origin, stride));
	return cursor->epoch * stride + share_span(share, cursor).position;
}

/* Is the position so far behind where its epoch was entered in a batch of this rank? */
static bool share_takes(const struct share *share, uint64_t offset)
{
	return offset % share_global_batch(share) / share->batch_size == share->rank;
}

/* The batches run on from epoch to epoch: one belongs to that in which its global batch begins. */
static bool share_has_wrapped(const struct share *share, const struct cursor *cursor, uint64_t end,
			      uint64_t epoch, uint64_t position)
{
	uint64_t global = share_global_batch(share);
	uint64_t at = (epoch - cursor->epoch) * share->n + position;
	if (at < cursor->origin || position >= share->n)
		return false;
	uint64_t offset = at - cursor->origin, first = at - offset % global;
	return share_takes(share, offset) && offset / global >= cursor->batch &&
	       cursor->epoch + first / share->n < end;
}

bool share_has(const struct share *share, const struct cursor *cursor, uint64_t end, uint64_t epoch,
	       uint64_t position)
{
	if (epoch < cursor->epoch)
		return false;
	if (share->buckets)
		return bucket_has(share, cursor, end, epoch, position);
	if (share->last == LAST_WRAP)
		return share_has_wrapped(share, cursor, end, epoch, position);
	bool now = epoch == cursor->epoch;
	uint64_t origin = now ? cursor->origin : 0;
	if (epoch >= end || position < origin || (position >= share->n && share->last != LAST_PAD))
		return false;
	uint64_t batch = (position - origin) / share_global_batch(share);
	return share_takes(share, position - origin) && batch >= (now ? cursor->batch : 0) &&
	       batch < share_batches(share, origin);
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
	if (share->buckets) {
		struct cursor next = *cursor;
		share_advance(share, &next);
		*epoch_out = next.epoch;
		*position_out = next.epoch > cursor->epoch ? 0 : next.origin + next.batch * global;
		return;
	}
	bool over = after >= share->n || (share->last == LAST_DROP && share->n - after < global);
	*epoch_out = cursor->epoch + over;
	*position_out = !over ? after : share->last == LAST_WRAP ? after - share->n : 0;
}
