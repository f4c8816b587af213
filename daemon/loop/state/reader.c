// SPDX-License-Identifier: MIT
#include "loop/state/reader.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "loop/engine/migrate.h"
#include "loop/engine/produce.h"
#include "loop/policy/scheduler.h"
#include "loop/protocol/connection.h"
#include "loop/server.h"
#include "loop/state/lease.h"
#include "loop/state/ring.h"
#include "loop/state/stream.h"

#define READER_EPOCHS_MAX ((uint64_t)1 << 32) /* an epoch's number has 32 bits on the wire */

/* It ends where its ring, or the wire, can count no further. */
static void reader_end_by(struct reader *reader, const struct ring *ring)
{
	uint64_t most = ring_epochs(ring->stride);
	most = most < READER_EPOCHS_MAX ? most : READER_EPOCHS_MAX;
	if (reader->end_epoch > most)
		reader->end_epoch = most;
}

int reader_new(struct reader **out, struct peer *peer, struct ring *ring,
	       const struct reader_request *request)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	if (!reader)
		return -ENOMEM;
	if (turn_get(&reader->turn, ring->server, peer->uid, ring->stream->id) < 0) {
		free(reader);
		return -ENOMEM;
	}
	reader->id = server_new_id(ring->server);
	reader->peer = peer;
	reader->ring = ring;
	reader->stream = ring->stream;
	reader->stream->users++;
	reader->share = request->share;
	reader->demand = request->demand;
	reader->pace = request->pace;
	reader->moves = request->moves;
	reader->end_epoch = request->epochs ? request->epoch + request->epochs : READER_EPOCHS_MAX;
	reader_end_by(reader, ring);
	reader->inflight = request->demand.inflight;
	reader->priority = request->priority;
	memcpy(reader->job, request->job, sizeof(reader->job));
	reader->next = (struct cursor){request->epoch, request->position, 0};
	share_settle(&reader->share, &reader->next);
	reader->start = reader->want = reader->next;
	reader->attached_ns = reader->since_ns = clock_ns();
	wait_change(&reader->wait, WAIT_FOR_BATCH, NULL, reader->attached_ns);
	list_init(&reader->in_hungry);
	list_init(&reader->in_starved);
	list_init(&reader->in_due);
	list_init(&reader->move.link);
	list_append(&ring->readers, &reader->in_ring);
	server_count(ring->server, COUNTER_READERS, 1);
	server_count(ring->server, COUNTER_READERS_TOTAL, 1);
	produce_hungry(reader);
	*out = reader;
	return 0;
}

void reader_free(struct reader *reader)
{
	struct stream *stream = reader->stream;
	list_for_each(lease, next, &reader->peer->session.leases, struct lease, in_session)
		if (lease->reader == reader)
			lease->reader = NULL;
	if (reader->ring)
		reader_enter(reader, NULL);
	turn_put(reader->turn);
	server_count(stream->server, COUNTER_READERS, -1);
	free(reader);
	stream_put(stream);
}

void reader_enter(struct reader *reader, struct ring *ring)
{
	struct ring *old = reader->ring;
	if (!ring)
		pace_leave(reader);
	list_remove(&reader->in_ring);
	turn_leave(reader);
	reader->ring = ring;
	reader->want = reader->next;
	reader->wanted = reader->announced;
	reader->ordered = reader->checked = 0;
	reader->stalled = false;
	if (ring) {
		reader_end_by(reader, ring);
		list_append(&ring->readers, &reader->in_ring);
		produce_hungry(reader);
	}
	ring_left(old);
}

bool reader_ended(const struct reader *reader)
{
	return reader->next.epoch >= reader->end_epoch;
}

uint64_t reader_place(const struct reader *reader)
{
	if (reader_ended(reader))
		return UINT64_MAX;
	struct span span = share_span(&reader->share, &reader->next);
	return ring_ordinal(reader->ring, reader->next.epoch, span.position);
}

uint64_t reader_floor(const struct reader *reader)
{
	uint64_t floor = reader_place(reader);
	list_for_each(lease, next, &reader->ring->leases, struct lease, in_ring)
		if (lease->reader == reader && lease->ordinal < floor)
			floor = lease->ordinal;
	return floor;
}

const struct reader *reader_waits_for(const struct reader *reader)
{
	uint64_t floor = ring_floor(reader->ring);
	list_for_each(other, next, &reader->ring->readers, struct reader, in_ring)
		if (other != reader && reader_floor(other) == floor)
			return other;
	return NULL;
}

enum reader_state reader_state(const struct reader *reader)
{
	if (reader_ended(reader))
		return READER_ENDED;
	if (reader->inflight == 0)
		return READER_PAUSED;
	if (reader->leased >= reader->inflight)
		return READER_HOLDING;
	/* Blocked before the batch that it waits for: the room is somebody's, maybe its own. */
	if (reader->blocked && reader->wanted == reader->announced + reader->checked) {
		if (ring_floor(reader->ring) != reader_floor(reader))
			return READER_WAITING;
		return READER_HOLDING;
	}
	return reader->stalled ? READER_STALLED : READER_FILLING;
}

const char *reader_state_name(enum reader_state state)
{
	static const char *const names[] = {"paused",  "holding", "filling",
					    "stalled", "waiting", "ended"};
	return names[state];
}
