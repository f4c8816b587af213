// SPDX-License-Identifier: MIT
#include "loop/state/ring.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "loop/engine/migrate.h"
#include "loop/engine/produce.h"
#include "loop/server.h"
#include "loop/state/catalog.h"
#include "loop/state/lease.h"
#include "loop/state/reader.h"
#include "loop/state/stream.h"

static struct segment ring_plan_segment(const struct stream *stream, uint64_t ring, uint32_t slots)
{
	struct segment segment;
	segment_plan(&segment, ring, slots, &stream->recipe);
	return segment;
}

uint64_t ring_bytes(const struct stream *stream, uint64_t slots)
{
	if (slots > UINT32_MAX)
		return SEGMENT_BYTES_MAX;
	return ring_plan_segment(stream, 0, (uint32_t)slots).header.total_bytes;
}

static void ring_free(struct ring *ring);

/* libuv's thread: the kernel clears pages. */
static void ring_work(uv_work_t *work)
{
	struct ring *ring = work->data;
	const struct server *server = ring->server;
	ring->making.result =
		segment_make(&ring->making.segment, ring->making.segment.transport,
			     server->shm_prefix, server->config->shm_mode, &ring->making.fault);
}

static void ring_made(uv_work_t *work, int status)
{
	struct ring *ring = work->data;
	struct server *server = ring->server;
	int result = status < 0 ? status : ring->making.result;
	server->pending--;
	ring->made = result == 0;
	ring->segment = ring->making.segment;
	ring->jobs++; /* a hand on it while those who waited are told */
	pace_ring_made(ring);
	while (!list_empty(&ring->waiters)) {
		struct ring_waiter *waiter =
			list_entry(ring->waiters.next, struct ring_waiter, link);
		list_remove(&waiter->link);
		waiter->on_made(waiter, result, &ring->making.fault);
	}
	ring->jobs--;
	if (ring->abandoned)
		ring_reap(ring);
	else if (list_empty(&ring->readers) && list_empty(&ring->comers))
		ring_abandon(ring);
	produce(server);
	server_check_drained(server);
}

static int ring_init(struct ring *ring, const struct ring_plan *plan)
{
	struct server *server = ring->server;
	ring->slots = (uint32_t)plan->slots;
	ring->stride = plan->stride;
	ring->base = plan->start;
	ring->uid = plan->uid;
	ring->slot = calloc(ring->slots, sizeof(*ring->slot));
	if (!ring->slot)
		return -ENOMEM;
	ring->making.segment = ring_plan_segment(ring->stream, ring->id, ring->slots);
	ring->making.segment.transport = plan->transport;
	ring->segment.transport = plan->transport;
	ring->segment.bytes = ring->making.segment.bytes;
	ring->making.work.data = ring;
	return uv_queue_work(&server->loop, &ring->making.work, ring_work, ring_made);
}

int ring_new(struct ring **out, struct stream *stream, const struct ring_plan *plan)
{
	struct server *server = stream->server;
	struct ring *ring = calloc(1, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	ring->server = server;
	ring->stream = stream;
	ring->id = server_new_id(server);
	ring->segment = SEGMENT_NULL;
	int r = ring_init(ring, plan);
	if (r < 0) {
		free(ring->slot);
		free(ring);
		return r;
	}
	list_init(&ring->readers);
	list_init(&ring->leases);
	list_init(&ring->comers);
	list_init(&ring->waiters);
	list_append(&stream->rings, &ring->link);
	stream->users++;
	server->pending++;
	server->budget_in_use += ring->segment.bytes;
	server_count(server, COUNTER_RINGS, 1);
	server_count(server, COUNTER_RING_BYTES, (int64_t)ring->segment.bytes);
	*out = ring;
	return 0;
}

static void ring_free(struct ring *ring)
{
	struct stream *stream = ring->stream;
	assert(list_empty(&ring->readers) && list_empty(&ring->comers));
	assert(list_empty(&ring->leases) && ring->jobs == 0);
	for (uint32_t i = 0; i < ring->slots; i++) {
		assert(ring->slot[i].pins == 0);
		free(ring->slot[i].note);
	}
	list_remove(&ring->link);
	ring->server->budget_in_use -= ring->segment.bytes;
	server_count(ring->server, COUNTER_RING_BYTES, -(int64_t)ring->segment.bytes);
	server_count(ring->server, COUNTER_RINGS, -1);
	segment_deinit(&ring->segment);
	free(ring->slot);
	free(ring);
	stream_put(stream);
}

void ring_abandon(struct ring *ring)
{
	ring->abandoned = true;
	list_remove(&ring->link);
	list_append(&ring->server->dying, &ring->link);
	ring_reap(ring);
}

void ring_reap(struct ring *ring)
{
	assert(ring->abandoned);
	produce_cancel(ring);
	if (ring->jobs == 0 && list_empty(&ring->leases))
		ring_free(ring);
}

void ring_job_back(struct ring *ring)
{
	assert(ring->jobs > 0);
	ring->jobs--;
	if (ring->abandoned || ring->obstructed)
		ring_loosened(ring);
}

void ring_left(struct ring *ring)
{
	if (!ring->abandoned && list_empty(&ring->readers) && list_empty(&ring->comers)) {
		ring_abandon(ring);
		return;
	}
	produce_cancel(ring); /* what it alone wanted */
	ring_loosened(ring);
}

void ring_loosened(struct ring *ring)
{
	ring->obstructed = false;
	if (ring->abandoned) {
		ring_reap(ring);
		return;
	}
	/* Each that is woken looks at the floor, and that at all: not for nothing. */
	if (ring_floor(ring) >= ring->rouse) {
		ring->rouse = UINT64_MAX;
		produce_unblock(ring);
	}
	produce_unblock_kin(ring);
}

void ring_rouse(struct ring *ring)
{
	ring->rouse = 0;
}

uint64_t ring_ordinal(const struct ring *ring, uint64_t epoch, uint64_t position)
{
	assert(position < ring->stride);
	return epoch * ring->stride + position;
}

uint64_t ring_epochs(uint64_t stride)
{
	return UINT64_MAX / 2 / stride;
}

bool ring_holds(const struct ring *ring, uint64_t ordinal)
{
	return ordinal >= ring->base && ordinal - ring->base < ring->slots;
}

uint32_t ring_slot_number(const struct ring *ring, uint64_t ordinal)
{
	return (uint32_t)(ordinal % ring->slots);
}

uint64_t ring_ordinal_of(const struct ring *ring, uint32_t slot_number)
{
	uint32_t first = ring_slot_number(ring, ring->base);
	return ring->base + (slot_number + ring->slots - first) % ring->slots;
}

struct slot *ring_slot(struct ring *ring, uint64_t ordinal)
{
	assert(ring_holds(ring, ordinal));
	return &ring->slot[ring_slot_number(ring, ordinal)];
}

uint64_t ring_floor(const struct ring *ring)
{
	uint64_t floor = UINT64_MAX;
	list_for_each(reader, next, &ring->readers, struct reader, in_ring) {
		uint64_t ordinal = reader_place(reader);
		floor = ordinal < floor ? ordinal : floor;
	}
	list_for_each(lease, after, &ring->leases, struct lease, in_ring)
		floor = lease->ordinal < floor ? lease->ordinal : floor;
	list_for_each(comer, last, &ring->comers, struct reader, move.link) {
		uint64_t ordinal = pace_place(comer);
		floor = ordinal < floor ? ordinal : floor;
	}
	return floor;
}

bool ring_wanted(const struct ring *ring, uint64_t epoch, uint64_t position)
{
	list_for_each(reader, next, &ring->readers, struct reader, in_ring)
		if (epoch < reader->end_epoch &&
		    share_has(&reader->share, &reader->next, epoch, position))
			return true;
	return false;
}

static void slot_empty(struct slot *slot)
{
	assert(slot->state != SLOT_FILLING && slot->pins == 0);
	free(slot->note);
	*slot = (struct slot){.state = SLOT_EMPTY};
}

bool ring_reach(struct ring *ring, uint64_t ordinal)
{
	assert(ordinal >= ring->base);
	if (ring_holds(ring, ordinal))
		return true;
	uint64_t goal = ordinal - ring->slots + 1, floor = ring_floor(ring);
	if (goal > floor)
		goal = floor;
	/* A goal more than a window away (a gap between epochs) empties every slot once. */
	for (uint32_t i = 0; ring->base < goal && i < ring->slots; i++) {
		struct slot *slot = ring_slot(ring, ring->base);
		if (slot->state == SLOT_FILLING) /* nobody's wish any more; told when it is back */
			ring->obstructed = true;
		if (slot->state == SLOT_FILLING || slot->pins) {
			ring_rouse(ring);
			return false;
		}
		slot_empty(slot);
		ring->base++;
	}
	if (ring->base < goal)
		ring->base = goal;
	if (ring_holds(ring, ordinal))
		return true;
	if (ring->rouse > floor)
		ring->rouse = floor + 1;
	return false;
}

void slot_fill(struct slot *slot)
{
	assert(slot->state == SLOT_EMPTY && slot->pins == 0);
	slot->state = SLOT_FILLING;
}

void slot_done(struct slot *slot, bool substituted)
{
	assert(slot->state == SLOT_FILLING);
	slot->state = SLOT_READY;
	slot->ready_ns = clock_ns();
	slot->substituted = substituted;
}

void slot_spoil(struct slot *slot, struct slot_note *note)
{
	assert(slot->state == SLOT_FILLING);
	slot->state = SLOT_BAD;
	slot->note = note;
}

void slot_unfill(struct slot *slot)
{
	assert(slot->state == SLOT_FILLING);
	slot->state = SLOT_EMPTY;
}
