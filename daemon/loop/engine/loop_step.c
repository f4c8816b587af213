// SPDX-License-Identifier: MIT
#include "loop/engine/loop_step.h"

#include "base/clock.h"
#include "loop/engine/deliver.h"
#include "loop/engine/forecasts.h"
#include "loop/engine/migrate.h"
#include "loop/engine/produce.h"
#include "loop/engine/wake.h"
#include "loop/state/core.h"
#include "loop/state/reader.h"
#include "loop/state/ring.h"

static bool ring_is_unused(const struct ring *ring)
{
	return list_empty(&ring->readers) && list_empty(&ring->arrivals) && !ring->backing.pending;
}

static void tell_all(struct ring *ring)
{
	struct list waiting;
	list_init(&waiting);
	while (!list_empty(&ring->waiters)) { /* some may wait again */
		struct ring_waiter *waiter =
			list_entry(ring->waiters.next, struct ring_waiter, link);
		list_remove(&waiter->link);
		list_append(&waiting, &waiter->link);
	}
	while (!list_empty(&waiting)) {
		struct ring_waiter *waiter = list_entry(waiting.next, struct ring_waiter, link);
		list_remove(&waiter->link);
		waiter->on_made(waiter, ring->making.result, &ring->making.fault);
	}
}

/* Readers that migrate to the ring come before attachments: they place its window. */
static void tell_waiters(struct ring *ring)
{
	ring->notified = true;
	forecasts_add(ring);
	migrate_ring_ready(ring);
	tell_all(ring);
}

static void settle_ring(struct ring *ring)
{
	if (ring->making.pending) /* touched again once it is made */
		return;
	if (!ring->notified)
		tell_waiters(ring);
	if (ring->backing.done) {
		ring->backing.done = false;
		tell_all(ring);
	}
	if (ring_is_unused(ring) && !ring->abandoned)
		ring_abandon(ring);
	if (ring->lost_reader || ring->abandoned)
		produce_cancel(ring);
	ring->lost_reader = ring->obstructed = false;
	if (!ring->abandoned)
		wake_ring(ring);
	else if (ring->jobs == 0 && list_empty(&ring->leases) && ring->openers == 0)
		ring_free(ring);
}

void loop_step_rings(struct core *core)
{
	while (!list_empty(&core->touched)) {
		struct ring *ring = list_entry(core->touched.next, struct ring, in_touched);
		list_remove(&ring->in_touched);
		settle_ring(ring);
	}
}

static void step_readers(struct core *core)
{
	while (!list_empty(&core->due)) {
		struct reader *reader = list_entry(core->due.next, struct reader, in_due);
		list_remove(&reader->in_due);
		deliver(reader);
	}
}

void loop_step(struct core *core)
{
	produce_take_finished(core);
	do {
		loop_step_rings(core);
		step_readers(core);
		if (!core->stopping)
			migrate_merge(core);
		/* Last: who can go on in its ring after all this is not held back any more. */
		if (core->held_back_due_ns != UINT64_MAX)
			migrate_overdue(core, clock_ns());
	} while (!list_empty(&core->touched) || !list_empty(&core->due));
	produce_order(core);
	produce_set_wakeup(core);
}

bool loop_step_is_drained(const struct core *core)
{
	return list_empty(&core->readers) && core->attaching == 0;
}
