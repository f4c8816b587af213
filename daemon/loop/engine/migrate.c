// SPDX-License-Identifier: MIT
#include "loop/engine/migrate.h"

#include <stdarg.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "loop/engine/membership.h"
#include "loop/engine/stall.h"
#include "loop/policy/reader_status.h"
#include "loop/policy/ring_growth.h"
#include "loop/policy/ring_plan.h"
#include "loop/policy/straggler.h"
#include "loop/state/core.h"
#include "loop/state/outbox.h"
#include "loop/state/stream.h"
#include "work/pool.h"

#define HICCUP_NS 50000000u /* held back for so long, a reader goes on elsewhere */
#define HELD_FADE 8	    /* being held fades in so many times the time it took */
#define RETRY_NS 50000000u  /* after a look that found no way: a ring may be nearer soon */
#define REST_NS 1000000000u /* ... and the reader has a batch that it has not received yet */

/* -- who is held back --------------------------------------------------------------------- */

static void look_again_at(struct core *core, uint64_t due_ns)
{
	if (due_ns < core->held_back_due_ns)
		core->held_back_due_ns = due_ns;
}

/* Look at the reader soon: it moves, so it may rest no longer. */
static void look_soon(struct reader *reader)
{
	uint64_t due_ns = clock_ns() + RETRY_NS;
	if (due_ns < reader->due_ns) {
		reader->due_ns = due_ns;
		look_again_at(reader->stream->core, due_ns);
	}
}

void migrate_watch(struct reader *reader)
{
	struct core *core = reader->stream->core;
	if (!list_empty(&reader->in_held_back)) {
		look_soon(reader);
		return;
	}
	if (!straggler_starves(reader))
		return;
	uint64_t now_ns = clock_ns(), faded = (now_ns - reader->since_ns) / HELD_FADE;
	reader->held_ns = reader->held_ns > faded ? reader->held_ns - faded : 0;
	reader->since_ns = reader->due_ns = now_ns;
	if (reader->pace == PACE_AUTO && reader->held_ns < HICCUP_NS)
		reader->due_ns += HICCUP_NS - reader->held_ns;
	list_append(&core->held_back, &reader->in_held_back);
	look_again_at(core, reader->due_ns);
}

static void not_held_back(struct reader *reader)
{
	if (list_empty(&reader->in_held_back))
		return;
	uint64_t now_ns = clock_ns();
	list_remove(&reader->in_held_back);
	reader->held_ns += now_ns - reader->since_ns;
	if (reader->held_ns > HICCUP_NS)
		reader->held_ns = HICCUP_NS;
	reader->since_ns = now_ns;
}

/* -- moving ------------------------------------------------------------------------------- */

static void tell_ring(struct reader *reader)
{
	const struct ring *ring = reader->ring;
	const struct segment *segment = &ring->segment;
	bool by_fd = segment->transport == SEGMENT_FD;
	struct message message = message_init(MESSAGE_RING);
	message.ring.ring = ring->id;
	message.ring.transport = by_fd ? (struct text){"fd", 2} : (struct text){"path", 4};
	message.ring.path = (struct text){segment->path, strlen(segment->path)};
	message.ring.bytes = segment->bytes;
	outbox_send_fd(reader->outbox, &message, by_fd ? segment->fd : -1);
}

__attribute__((format(printf, 2, 3))) static void log_debug_of(const struct reader *reader,
							       const char *format, ...)
{
	const struct log_facts facts = reader_facts(reader);
	va_list arguments;
	va_start(arguments, format);
	log_arguments(&facts, LOG_LEVEL_DEBUG, format, arguments);
	va_end(arguments);
}

static void move_begin(struct reader *reader, struct ring *ring)
{
	reader->move.ring = ring;
	list_append(&ring->arrivals, &reader->move.link);
	ring_claim(ring, &reader->move.claim, UINT64_MAX);
}

static void move_end(struct reader *reader)
{
	list_remove(&reader->move.link);
	ring_unclaim(reader->move.ring, &reader->move.claim);
	reader->move.ring = NULL;
	reader->move.settled = false;
}

/* Keep the reader where it is; if others still hold it back, that is looked at again. */
static void move_cancel(struct reader *reader)
{
	log_debug_of(reader, "reader %llu stays in its ring: ring %llu is no place for it now",
		     (unsigned long long)reader->id, (unsigned long long)reader->move.ring->id);
	move_end(reader);
	if (list_empty(&reader->in_held_back)) {
		migrate_watch(reader);
		return;
	}
	reader->due_ns = clock_ns() + RETRY_NS;
	look_again_at(reader->stream->core, reader->due_ns);
}

/* Move the reader. Its leases stay where they are; its next batch comes from the new ring. */
static void move_to(struct reader *reader, struct ring *ring)
{
	log_debug_of(reader, "reader %llu moves from ring %llu to ring %llu",
		     (unsigned long long)reader->id, (unsigned long long)reader->ring->id,
		     (unsigned long long)ring->id);
	not_held_back(reader);
	list_remove(&reader->in_catching_up);
	membership_move(reader, ring);
	if (reader->move.ring)
		move_end(reader);
	reader->held_ns = 0;
	tell_ring(reader);
	reader_touch(reader);
}

/* The new ring stands: from which batch on will the reader be there? */
static void move_settle(struct reader *reader)
{
	struct ring *ring = reader->move.ring;
	struct cursor *at = &reader->move.at;
	*at = straggler_fork_at(reader);
	if (at->epoch >= reader->end_epoch || !straggler_fits(reader, ring)) {
		move_cancel(reader);
		return;
	}
	reader->move.settled = true;
	reader->move.claim.ordinal = share_ordinal(&reader->share, at, ring->stride);
	if (straggler_leaves_at(reader, &reader->next))
		move_to(reader, ring);
}

/* Nobody reads there yet, so the window can begin where the first arrival will. */
static void place_window(struct ring *ring)
{
	uint64_t first = UINT64_MAX;
	bool misfit = false;
	list_for_each(arrival, next, &ring->arrivals, struct reader, move.link) {
		const struct cursor at = straggler_fork_at(arrival);
		if (at.epoch >= arrival->end_epoch ||
		    !share_fits(&arrival->share, at.origin, ring->stride))
			continue;
		uint64_t ordinal = share_ordinal(&arrival->share, &at, ring->stride);
		first = ordinal < first ? ordinal : first;
		misfit |= !ring_holds(ring, ordinal);
	}
	if (misfit)
		ring->base = first - first % ring->run;
}

void migrate_ring_ready(struct ring *ring)
{
	if (ring->made)
		place_window(ring);
	list_for_each(arrival, next, &ring->arrivals, struct reader, move.link)
		if (ring->made)
			move_settle(arrival);
		else
			move_cancel(arrival);
}

void migrate_fed(struct reader *reader)
{
	struct stream *stream = reader->stream;
	not_held_back(reader);
	if (straggler_leaves_at(reader, &reader->next))
		move_to(reader, reader->move.ring);
	else if (reader->moves && list_empty(&reader->in_catching_up) &&
		 stream->rings.next != stream->rings.prev)
		list_append(&stream->core->catching_up, &reader->in_catching_up);
}

/* -- fork --------------------------------------------------------------------------------- */

static void note_no_room(struct core *core, const struct fault *fault)
{
	core_count(core, COUNTER_FORKS_REFUSED, 1);
	if (!core->logged_no_fork)
		log_warning(
			"a slow reader holds a faster one back, or one keeps a batch that is in "
			"its own way, and there is no memory for another ring: %s",
			fault->text);
	core->logged_no_fork = true;
}

/* Without memory for them: all. */
static struct bands bands_of(const struct reader *reader)
{
	struct bands bands;
	return bands_init(&bands, &reader->share, &reader->move.at) < 0 ? BANDS_ALL : bands;
}

/* The ring to go on in: one that exists, or is being made, or a new one. NULL if there can be
 * none. */
static struct ring *fork_ring(const struct reader *reader)
{
	struct ring_plan plan;
	struct ring *own;
	struct fault fault;
	list_for_each(ring, next, &reader->stream->rings, struct ring, link)
		if (ring != reader->ring && straggler_job_fits(reader, ring))
			return ring;
	const struct reader *first = straggler_hindmost(reader);
	struct bands bands = bands_of(first);
	for_each_rank(member, after, reader)
	{
		bands_add(&bands, &member->share, &member->move.at);
	}
	struct ring_request request = first->ring_request;
	request.bands = &bands;
	request.lean &= straggler_kept(reader) == NULL; /* it needs more than it gives back */
	int r = ring_plan_make(&request, &first->share, &first->move.at, first->stream, &plan,
			       &fault);
	if (r)
		note_no_room(reader->stream->core, &fault);
	if (r || ring_new(&own, reader->stream, &plan) < 0)
		own = NULL;
	bands_deinit(&bands);
	return own;
}

/* All ranks of the job on the reader's ring. False if it has to wait on. */
static bool fork_job(struct reader *reader)
{
	struct core *core = reader->stream->core;
	if (!straggler_may_fork(reader))
		return false;
	for_each_rank(member, next, reader)
	{
		member->move.at = straggler_fork_at(member);
	}
	struct ring *ring = fork_ring(reader);
	if (!ring)
		return false;
	core_count(core, COUNTER_FORKS, 1);
	const struct reader *slow = reader_waits_for(reader);
	log_debug_of(reader, "fork: reader %llu (job '%s') goes on in ring %llu, past reader %llu",
		     (unsigned long long)reader->id, reader->job, (unsigned long long)ring->id,
		     slow ? (unsigned long long)slow->id : 0);
	core->logged_no_fork = false;
	for_each_rank(rank, after, reader)
	{
		move_begin(rank, ring);
	}
	if (ring->notified && ring->made)
		list_for_each(arrival, last, &ring->arrivals, struct reader, move.link)
			if (!arrival->move.settled)
				move_settle(arrival);
	return true;
}

/* -- a larger ring ------------------------------------------------------------------------ */

/* One that exists, or a new one; NULL if there can be none. `spare` > 0: a step is enough. */
static struct ring *larger_ring(const struct ring *ring, const struct reader *first, double spare)
{
	struct ring_request request = first->ring_request;
	struct ring_plan plan;
	struct ring *larger;
	struct fault ignored;
	request.lean = spare > 0;
	request.above = ring->slots;
	list_for_each(member, last, &ring->readers, struct reader, in_ring)
		if (member->inflight > request.inflight) /* CREDIT has raised it */
			request.inflight = member->inflight;
	if (request.prefetch && request.prefetch <= request.inflight)
		request.prefetch = (uint64_t)request.inflight + 1;
	list_for_each(other, next, &ring->stream->rings, struct ring, link)
		if (other->slots > ring->slots && ring_growth_fits(ring, other))
			return other;
	struct bands bands = bands_of(first);
	list_for_each(reader, after, &ring->readers, struct reader, in_ring)
		if (ring_growth_may_move(reader))
			bands_add(&bands, &reader->share, &reader->move.at);
	request.bands = &bands;
	if (ring_plan_make(&request, &first->share, &first->move.at, first->stream, &plan,
			   &ignored) ||
	    plan.slots <= ring->slots || ring_new(&larger, first->stream, &plan) < 0)
		larger = NULL;
	else
		larger->spare = spare;
	bands_deinit(&bands);
	return larger;
}

/* All who read the ring go on in a larger one; if there is no memory for it they stay. `spare`:
 * workers' idle time, if that is the reason; else 0. */
static void enlarge(struct ring *ring, double spare)
{
	list_for_each(reader, next, &ring->readers, struct reader, in_ring)
		if (ring_growth_may_move(reader))
			reader->move.at = straggler_fork_at(reader);
	const struct reader *first = ring_growth_hindmost(ring);
	struct ring *larger = first ? larger_ring(ring, first, spare) : NULL;
	if (!larger)
		return;
	log_debug_of(first, "ring %llu of %llu MiB is too small: who reads it goes on in ring %llu",
		     (unsigned long long)ring->id, (unsigned long long)ring->segment.backed >> 20,
		     (unsigned long long)larger->id);
	list_for_each(mover, after, &ring->readers, struct reader, in_ring)
		if (ring_growth_may_move(mover))
			move_begin(mover, larger);
	if (larger->notified && larger->made)
		list_for_each(arrival, last, &larger->arrivals, struct reader, move.link)
			if (!arrival->move.settled)
				move_settle(arrival);
}

void migrate_joined(struct ring *ring)
{
	if (ring->lean && ring_growth_crowded(ring) && !ring->core->stopping)
		enlarge(ring, 0);
}

/* Has a larger ring been missed for some seconds? */
static bool ring_was_short(const struct ring *ring, double spare)
{
	bool was_short = false;
	list_for_each(reader, next, &ring->readers, struct reader, in_ring) {
		bool now = ring_growth_short(reader, spare);
		reader->short_seconds = now ? reader->short_seconds + 1 : 0;
		reader->awaited_before += reader->awaited;
		reader->awaited = 0;
		was_short |= reader->short_seconds >= RING_GROWTH_SECONDS;
	}
	return was_short;
}

void migrate_tick(struct core *core, uint64_t now_ns)
{
	uint64_t ns = now_ns - core->spare.at_ns;
	uint64_t spare_ns = pool_spare_ns(core->pool);
	double spare = (double)(spare_ns - core->spare.ns) / (double)(ns ? ns : 1);
	spare /= core_workers(core);
	core->spare.at_ns = now_ns;
	core->spare.ns = spare_ns;
	if (core->stopping)
		return;
	list_for_each(stream, next, &core->streams, struct stream, link)
		list_for_each(ring, after, &stream->rings, struct ring, link)
			if (ring->lean && ring_growth_crowded(ring))
				enlarge(ring, 0);
			else if (ring->lean && ring_was_short(ring, spare))
				enlarge(ring, spare);
}

/* -- who waits ---------------------------------------------------------------------------- */

static void look_at_held_back(struct reader *reader, uint64_t now_ns)
{
	if (!straggler_starves(reader))
		not_held_back(reader);
	else if (reader->due_ns <= now_ns && !fork_job(reader)) {
		bool rests = !outbox_is_read(reader->outbox);
		reader->due_ns = now_ns + (rests ? REST_NS : RETRY_NS);
		if (rests)
			reader->rested_ns = now_ns;
		bool held = ring_growth_held(reader, now_ns);
		if (held)
			enlarge(reader->ring, 0);
		if (!rests && !reader->move.ring && (held || straggler_has_room(reader)))
			stall_tell_kept(reader);
	}
	if (!list_empty(&reader->in_held_back) && !reader->move.ring)
		look_again_at(reader->stream->core, reader->due_ns);
}

/* Nobody moves once the daemon stops. */
void migrate_overdue(struct core *core, uint64_t now_ns)
{
	struct list seen;
	if (now_ns < core->held_back_due_ns)
		return;
	core->held_back_due_ns = UINT64_MAX;
	if (core->stopping)
		return;
	list_init(&seen);
	while (!list_empty(&core->held_back)) {
		struct reader *reader =
			list_entry(core->held_back.next, struct reader, in_held_back);
		list_remove(&reader->in_held_back);
		list_append(&seen, &reader->in_held_back);
		look_at_held_back(reader, now_ns);
	}
	while (!list_empty(&seen)) {
		struct reader *reader = list_entry(seen.next, struct reader, in_held_back);
		list_remove(&reader->in_held_back);
		list_append(&core->held_back, &reader->in_held_back);
	}
}

/* -- merge -------------------------------------------------------------------------------- */

/* All that can go at once: who stays is behind, so nobody goes back and forth. */
static void merge_ring(struct ring *from, struct ring *into)
{
	struct list going;
	list_init(&going);
	list_for_each(reader, next, &from->readers, struct reader, in_ring) {
		if (!straggler_job_near(reader, into))
			continue;
		list_remove(&reader->in_catching_up);
		list_append(&going, &reader->in_catching_up);
	}
	core_count(from->core, COUNTER_MERGES, 1);
	log_debug("merge: readers of ring %llu have caught up with ring %llu",
		  (unsigned long long)from->id, (unsigned long long)into->id);
	while (!list_empty(&going))
		move_to(list_entry(going.next, struct reader, in_catching_up), into);
}

void migrate_merge(struct core *core)
{
	while (!list_empty(&core->catching_up)) {
		struct reader *reader =
			list_entry(core->catching_up.next, struct reader, in_catching_up);
		list_remove(&reader->in_catching_up);
		list_for_each(ring, next, &reader->stream->rings, struct ring, link) {
			if (!straggler_may_merge(reader, ring))
				continue;
			merge_ring(reader->ring, ring);
			break;
		}
	}
}
