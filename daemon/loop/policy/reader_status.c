// SPDX-License-Identifier: MIT
#include "loop/policy/reader_status.h"

#include <stddef.h>

#include "base/clock.h"
#include "loop/state/catalog.h"
#include "loop/state/lease.h"
#include "loop/state/producer.h"
#include "loop/state/reader.h"
#include "loop/state/ring.h"
#include "loop/state/stream.h"

/* The oldest ordinal it still needs; UINT64_MAX if it has ended and holds nothing. */
static uint64_t reader_floor(const struct reader *reader)
{
	uint64_t floor = reader_place(reader);
	list_for_each(lease, next, &reader->ring->leases, struct lease, in_ring)
		if (lease->reader == reader && lease->claim.ordinal < floor)
			floor = lease->claim.ordinal;
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
	if (!reader_has_credit(reader))
		return READER_HOLDING;
	/* Stopped before the batch that it waits for: somebody has the slots, maybe itself. */
	if (reader->slot_wait && reader->wanted == reader->announced + reader->checked) {
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

enum wait_state reader_wait_state(const struct reader *reader)
{
	switch (reader_state(reader)) {
	case READER_PAUSED:
	case READER_HOLDING:
		return WAIT_FOR_TRAINER;
	case READER_FILLING:
	case READER_STALLED:
		return WAIT_FOR_BATCH;
	case READER_WAITING:
		return WAIT_FOR_SLOT;
	case READER_ENDED:
		break;
	}
	return WAIT_FOR_NOTHING;
}

struct wait_time reader_wait_now(const struct reader *reader)
{
	struct wait_time wait = reader->wait;
	bool made = wait.announced != reader->announced;
	wait.announced = reader->announced;
	wait_time_change(&wait, reader_wait_state(reader), made ? &reader->last_made : NULL,
			 clock_ns());
	return wait;
}

static bool code_lacks_producer(const struct code *code)
{
	return code && list_empty(&code->producers);
}

bool reader_lacks_producer(const struct reader *reader)
{
	const struct stream *stream = reader->stream;
	enum reader_state state = reader_state(reader);
	return (code_lacks_producer(stream->entry->code) ||
		code_lacks_producer(stream->order.map)) &&
	       (state == READER_FILLING || state == READER_STALLED);
}

const char *stream_storage(const struct stream *stream)
{
	const struct dataset_entry *entry = stream->entry;
	if (entry->code || stream->order.map)
		return "user code";
	return dataset_is_far(entry->dataset) ? "network" : "storage";
}

struct log_facts reader_facts(const struct reader *reader)
{
	return (struct log_facts){
		.uid = reader->uid,
		.reader = reader->id,
		.stream = reader->stream->id,
		.dataset = reader->stream->entry->id,
		.job = reader->job,
	};
}
