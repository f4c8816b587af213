// SPDX-License-Identifier: MIT
#include "loop/policy/scheduler.h"

#include <stdbool.h>
#include <stddef.h>

#include "loop/state/reader.h"
#include "loop/state/ring.h"
#include "loop/state/user.h"

/* Pick the flow with the lowest clock, of a user's flows that wait, or of all if none does. */
static struct flow *pick_flow(const struct user *user)
{
	struct flow *first = NULL;
	list_for_each(flow, next, &user->runnable, struct flow, in_runnable)
		if (!first || flow->waits > first->waits ||
		    (flow->waits == first->waits && flow->virtual_time < first->virtual_time))
			first = flow;
	return first;
}

/* Pick the user in the same way, of those that may order, and its flow. */
static struct flow *pick_user_flow(const struct users *users, unsigned queued_max)
{
	struct flow *first = NULL;
	list_for_each(user, next, &users->runnable, struct user, in_runnable) {
		if (user_is_full(user, queued_max))
			continue;
		struct flow *flow = pick_flow(user);
		if (!first || flow->waits > first->waits ||
		    (flow->waits == first->waits && user->virtual_time < first->user->virtual_time))
			first = flow;
	}
	return first;
}

static bool ring_is_behind(const struct ring *ring, const struct ring *other)
{
	uint64_t epoch = ring->base / ring->stride, others = other->base / other->stride;
	if (epoch != others)
		return epoch < others;
	return ring->base % ring->stride < other->base % other->stride;
}

/* If the flow has readers that wait for a batch, only those count. */
static bool reader_counts(const struct flow *flow, const struct reader *reader)
{
	return !flow->waits || reader_has_credit(reader);
}

/* The reader of this ring that was not picked for longest. Not the one with the least ready: that
 * would always be one with small batches, and one with large batches would starve. */
static struct reader *pick_on_ring(const struct flow *flow, const struct ring *ring)
{
	list_for_each(reader, next, &flow->runnable, struct reader, in_runnable)
		if (reader->ring == ring && reader_counts(flow, reader))
			return reader;
	return NULL;
}

static struct ring *hindmost_ring(const struct flow *flow)
{
	struct ring *hindmost = NULL;
	list_for_each(reader, next, &flow->runnable, struct reader, in_runnable)
		if (reader_counts(flow, reader) &&
		    (!hindmost || ring_is_behind(reader->ring, hindmost)))
			hindmost = reader->ring;
	return hindmost;
}

static struct reader *pick_reader(const struct flow *flow)
{
	struct ring *hindmost = hindmost_ring(flow), *rest = NULL;
	struct reader *longest = NULL;
	if (flow->picks % 2 == 0)
		return pick_on_ring(flow, hindmost);
	list_for_each(reader, next, &flow->runnable, struct reader, in_runnable) {
		if (!reader_counts(flow, reader) || reader->ring == hindmost)
			continue;
		if (!rest || reader->ring->picked < rest->picked)
			rest = reader->ring;
		if (!longest || reader->wait.wants_since_ns < longest->wait.wants_since_ns)
			longest = reader;
	}
	if (!rest)
		return pick_on_ring(flow, hindmost);
	return flow->waits && flow->picks % 4 == 1 ? longest : pick_on_ring(flow, rest);
}

struct reader *scheduler_pick(const struct users *users, unsigned queued_max)
{
	const struct flow *flow = pick_user_flow(users, queued_max);
	return flow ? pick_reader(flow) : NULL;
}
