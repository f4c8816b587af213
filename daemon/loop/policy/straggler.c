// SPDX-License-Identifier: MIT
#include "loop/policy/straggler.h"

#include <string.h>

#include "loop/policy/ring_plan.h"
#include "loop/state/lease.h"
#include "loop/state/outbox.h"
#include "loop/state/ring.h"
#include "loop/state/stream.h"

bool straggler_same_job(const struct reader *reader, const struct reader *other)
{
	if (reader == other)
		return true;
	return reader->job[0] && strcmp(reader->job, other->job) == 0 &&
	       reader->share.world == other->share.world && reader->uid == other->uid;
}

static struct place first_sample(const struct reader *reader, const struct cursor *batch)
{
	return share_place(&reader->share, batch->epoch,
			   share_span(&reader->share, batch).position);
}

/* Does the batch at `a` stand before that at `b` in the stream? Rings may number them differently.
 */
static bool is_before(const struct reader *reader, const struct cursor *a,
		      const struct reader *other, const struct cursor *b)
{
	struct place p = first_sample(reader, a), q = first_sample(other, b);
	return p.epoch != q.epoch ? p.epoch < q.epoch : p.position < q.position;
}

/* -- who is held back --------------------------------------------------------------------- */

bool straggler_starves(const struct reader *reader)
{
	return reader->ring && reader->slot_wait && !reader->move.ring && !reader_ended(reader) &&
	       reader_has_credit(reader) && reader->wanted - reader->ordered <= reader->announced;
}

static bool job_is_alone(const struct reader *reader)
{
	list_for_each(other, next, &reader->ring->readers, struct reader, in_ring)
		if (!straggler_same_job(reader, other))
			return false;
	return true;
}

static bool ranks_may_move(const struct reader *reader)
{
	bool alone = job_is_alone(reader);
	for_each_rank(member, next, reader)
	{
		bool stays = member->pace == PACE_TOGETHER && !alone;
		if (!member->moves || stays || member->move.ring)
			return false;
	}
	return true;
}

/* The window would begin here if the reader got the slot that it wants next. */
static uint64_t goal_of(const struct reader *reader)
{
	uint64_t wants = reader_place(reader) + reader->ordered, slots = reader->ring->slots;
	return wants >= slots ? wants - slots + 1 : 0;
}

const struct lease *straggler_kept(const struct reader *reader)
{
	uint64_t goal = goal_of(reader);
	list_for_each(lease, next, &reader->ring->leases, struct lease, in_ring)
		if (lease->book == reader->book && lease->claim.ordinal < goal)
			return lease;
	return NULL;
}

bool straggler_has_room(const struct reader *reader)
{
	uint64_t windows = (uint64_t)reader->inflight + 1;
	return reader->ring->slots / share_global_batch(&reader->share) >= windows;
}

/* Check for a lease of the reader's own job that is kept: its holder gives it back, if at all, once
 * there is another batch. Where all of the ring may be in flight this is no sign of that. */
static bool lease_is_kept(const struct reader *reader, const struct lease *lease)
{
	const struct reader *holder = lease->reader ? lease->reader : reader;
	if (holder->ring != reader->ring)
		return true;
	return straggler_has_room(holder) && straggler_starves(holder) &&
	       outbox_is_read(holder->outbox);
}

/* Ordinals that its own job and the others let the window come to. */
struct floors {
	uint64_t own, others;
	bool together; /* one of the others may not be left behind */
};

static void lower(uint64_t *floor, uint64_t ordinal)
{
	if (ordinal < *floor)
		*floor = ordinal;
}

static void add_leases(struct floors *floors, const struct reader *reader, uint64_t goal)
{
	const struct ring *ring = reader->ring;
	list_for_each(lease, next, &ring->leases, struct lease, in_ring) {
		const struct reader *other = lease->reader;
		uint64_t ordinal = lease->claim.ordinal;
		bool same = other ? straggler_same_job(reader, other) : lease->book == reader->book;
		bool waits = same && ordinal < goal && lease_is_kept(reader, lease);
		lower(same && !waits ? &floors->own : &floors->others, ordinal);
		floors->together |= !same && other && other->ring == ring && ordinal < goal &&
				    other->pace == PACE_TOGETHER;
	}
}

static struct floors floors_of(const struct reader *reader)
{
	struct floors floors = {UINT64_MAX, UINT64_MAX, false};
	const struct ring *ring = reader->ring;
	uint64_t goal = goal_of(reader);
	list_for_each(other, next, &ring->readers, struct reader, in_ring) {
		uint64_t place = reader_place(other);
		bool same = straggler_same_job(reader, other);
		lower(same ? &floors.own : &floors.others, place);
		floors.together |= !same && place < goal && other->pace == PACE_TOGETHER;
	}
	add_leases(&floors, reader, goal);
	list_for_each(arrival, last, &ring->arrivals, struct reader, move.link)
		if (!straggler_same_job(reader, arrival))
			lower(&floors.others, arrival->move.claim.ordinal);
	return floors;
}

/* Is the window held by others than its own job, or by batches that this keeps? By nobody's claim
 * counts as well: then it is a slot that a thread works on, maybe in a read that hangs for a reader
 * that has left. Its own job holds the window, too, where it is within the same global batch: the
 * floors of ranks differ within that. */
static bool held_by_others(const struct reader *reader)
{
	struct floors floors = floors_of(reader);
	uint64_t slots = reader->ring->slots, wants = reader_place(reader) + reader->ordered;
	bool others = floors.others == UINT64_MAX || floors.others + slots <= wants;
	return others && !floors.together &&
	       floors.own + slots >= wants + share_global_batch(&reader->share);
}

bool straggler_may_fork(const struct reader *reader)
{
	return ranks_may_move(reader) && held_by_others(reader);
}

/* -- where a fork goes -------------------------------------------------------------------- */

struct cursor straggler_fork_at(const struct reader *reader)
{
	struct cursor at = reader->next;
	while (at.epoch < reader->end_epoch) {
		struct batch_span span = share_span(&reader->share, &at);
		uint64_t ordinal = share_ordinal(&reader->share, &at, reader->ring->stride);
		if (!ring_holds(reader->ring, ordinal + span.count - 1))
			break;
		share_advance(&reader->share, &at);
	}
	return at;
}

bool straggler_fits(const struct reader *reader, const struct ring *ring)
{
	const struct cursor *at = &reader->move.at;
	if (!ring_fits(&reader->ring_request, &reader->share, at, ring) ||
	    !ring_backs(ring, &reader->share, at))
		return false;
	struct batch_span span = share_span(&reader->share, at);
	uint64_t last = share_ordinal(&reader->share, at, ring->stride) + span.count - 1;
	uint64_t floor = ring_floor(ring);
	return last < ring->slots || last - ring->slots < floor;
}

bool straggler_job_fits(const struct reader *reader, const struct ring *ring)
{
	for_each_rank(member, next, reader)
	{
		if (member->move.at.epoch < member->end_epoch && !straggler_fits(member, ring))
			return false;
	}
	return true;
}

const struct reader *straggler_hindmost(const struct reader *reader)
{
	const struct reader *first = reader;
	for_each_rank(member, next, reader)
	{
		if (is_before(member, &member->move.at, first, &first->move.at))
			first = member;
	}
	return first;
}

bool straggler_leaves_at(const struct reader *reader, const struct cursor *batch)
{
	const struct cursor *at = &reader->move.at;
	return reader->move.settled && (batch->epoch > at->epoch ||
					(batch->epoch == at->epoch && batch->batch >= at->batch));
}

/* -- who may merge ------------------------------------------------------------------------ */

/* The foremost reader of a ring; NULL if none has a batch to come. */
static const struct reader *ring_leader(const struct ring *ring)
{
	const struct reader *leader = NULL;
	list_for_each(reader, next, &ring->readers, struct reader, in_ring)
		if (!reader_ended(reader) &&
		    (!leader || is_before(leader, &leader->next, reader, &reader->next)))
			leader = reader;
	return leader;
}

const struct reader *straggler_leader(const struct stream *stream, uid_t uid)
{
	const struct reader *leader = NULL;
	list_for_each(ring, next, &stream->rings, struct ring, link) {
		const struct reader *its = ring->uid == uid ? ring_leader(ring) : NULL;
		if (its && (!leader || is_before(leader, &leader->next, its, &its->next)))
			leader = its;
	}
	return leader;
}

/* Compare the places of rings; of two at one place the older is ahead. */
static bool ring_is_ahead(const struct ring *ring, const struct ring *other)
{
	const struct reader *leader = ring_leader(ring), *its = ring_leader(other);
	if (!leader || !its)
		return false;
	return is_before(its, &its->next, leader, &leader->next) ||
	       (!is_before(leader, &leader->next, its, &its->next) && ring->id < other->id);
}

static bool reader_is_near(const struct reader *reader, const struct ring *ring)
{
	if (!reader->moves || reader->move.ring || reader_ended(reader) ||
	    !ring_fits(&reader->ring_request, &reader->share, &reader->next, ring) ||
	    !ring_backs(ring, &reader->share, &reader->next))
		return false;
	const struct reader *leader = ring_leader(ring);
	uint64_t ordinal = share_ordinal(&reader->share, &reader->next, ring->stride);
	return leader && reader_place(leader) <= ordinal + ring->slots / 2;
}

bool straggler_job_near(const struct reader *reader, const struct ring *ring)
{
	if (!reader_is_near(reader, ring))
		return false;
	if (!reader->job[0])
		return true;
	for_each_rank(member, next, reader)
	{
		if (!reader_is_near(member, ring))
			return false;
	}
	return true;
}

bool straggler_may_merge(const struct reader *reader, const struct ring *into)
{
	return into->made && into != reader->ring && straggler_job_near(reader, into) &&
	       ring_is_ahead(into, reader->ring);
}
