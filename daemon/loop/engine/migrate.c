// SPDX-License-Identifier: MIT
#include "loop/engine/migrate.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "loop/engine/deliver.h"
#include "loop/engine/produce.h"
#include "loop/protocol/connection.h"
#include "loop/server.h"
#include "loop/state/lease.h"
#include "loop/state/reader.h"
#include "loop/state/ring.h"
#include "loop/state/stream.h"

#define PACE_HICCUP_NS 50000000u /* held for so long, a reader goes on elsewhere */
#define PACE_FADE 8		 /* being held fades in so many times the time it took */
#define PACE_RETRY_NS 50000000u	 /* after a look that found no way: a mate may be nearer soon */

static void pace_on_timer(uv_timer_t *timer);

int pace_init(struct server *server)
{
	server->pace.timer.data = server;
	return uv_timer_init(&server->loop, &server->pace.timer);
}

/* Nobody moves once the daemon stops: a timer for what is overdue would then fire for ever. */
static void pace_wake(struct server *server, uint64_t due_ns, uint64_t now_ns)
{
	if (server->stopping)
		return;
	uv_timer_t *timer = &server->pace.timer;
	uint64_t ms = due_ns > now_ns ? (due_ns - now_ns) / 1000000 + 1 : 0;
	if (!uv_is_active((uv_handle_t *)timer) || uv_timer_get_due_in(timer) > ms)
		uv_timer_start(timer, pace_on_timer, ms, 0);
}

/* -- crews -------------------------------------------------------------------------------- */

/* The ranks of a job on one ring keep together. */
static bool same_crew(const struct reader *reader, const struct reader *other)
{
	if (reader == other)
		return true;
	return reader->job[0] && strcmp(reader->job, other->job) == 0 &&
	       reader->share.world == other->share.world && reader->peer->uid == other->peer->uid;
}

/* `member` of the crew of `reader` on its ring that has not ended. */
#define crew_for_each(member, next_member, reader)                                                 \
	list_for_each(member, next_member, &(reader)->ring->readers, struct reader, in_ring)       \
		if (same_crew(reader, member) && !reader_ended(member))

static bool crew_may_move(const struct reader *reader)
{
	crew_for_each(member, next, reader) if (!member->moves || member->pace == PACE_TOGETHER ||
						member->move.ring) return false;
	return true;
}

/* -- who is held -------------------------------------------------------------------------- */

/* It has room in flight, has had all that the window holds, and the window cannot move. */
static bool starves(const struct reader *reader)
{
	return reader->ring && reader->blocked && reader->moves && !reader->move.ring &&
	       reader->pace != PACE_TOGETHER && !reader_ended(reader) &&
	       reader->leased < reader->inflight &&
	       reader->wanted - reader->ordered <= reader->announced;
}

void pace_look(struct reader *reader)
{
	if (!list_empty(&reader->in_starved) || !starves(reader))
		return;
	struct server *server = reader->stream->server;
	uint64_t now_ns = clock_ns(), faded = (now_ns - reader->since_ns) / PACE_FADE;
	reader->held_ns = reader->held_ns > faded ? reader->held_ns - faded : 0;
	reader->since_ns = reader->due_ns = now_ns;
	if (reader->pace == PACE_AUTO && reader->held_ns < PACE_HICCUP_NS)
		reader->due_ns += PACE_HICCUP_NS - reader->held_ns;
	list_append(&server->pace.starved, &reader->in_starved);
	pace_wake(server, reader->due_ns, now_ns);
}

static void pace_starve_no_more(struct reader *reader)
{
	if (list_empty(&reader->in_starved))
		return;
	uint64_t now_ns = clock_ns();
	list_remove(&reader->in_starved);
	reader->held_ns += now_ns - reader->since_ns;
	if (reader->held_ns > PACE_HICCUP_NS)
		reader->held_ns = PACE_HICCUP_NS;
	reader->since_ns = now_ns;
}

/* How far its crew lets the window come, and how far the others do; true if one of those may not
 * be left behind. */
static bool crew_floors(const struct reader *reader, uint64_t *own, uint64_t *others)
{
	bool together = false;
	uint64_t goal = reader_place(reader) + reader->ordered;
	const struct ring *ring = reader->ring;
	goal = goal >= ring->slots ? goal - ring->slots + 1 : 0;
	*own = *others = UINT64_MAX;
	list_for_each(other, next, &ring->readers, struct reader, in_ring) {
		uint64_t place = reader_place(other);
		bool mate = same_crew(reader, other);
		uint64_t *floor = mate ? own : others;
		*floor = place < *floor ? place : *floor;
		together |= !mate && place < goal && other->pace == PACE_TOGETHER;
	}
	list_for_each(lease, after, &ring->leases, struct lease, in_ring) {
		const struct reader *other = lease->reader;
		bool mate =
			other ? same_crew(reader, other) : lease->session == &reader->peer->session;
		uint64_t *floor = mate ? own : others;
		*floor = lease->ordinal < *floor ? lease->ordinal : *floor;
		together |= !mate && other && other->ring == ring && lease->ordinal < goal &&
			    other->pace == PACE_TOGETHER;
	}
	list_for_each(comer, last, &ring->comers, struct reader, move.link)
		if (pace_place(comer) < *others && !same_crew(reader, comer))
			*others = pace_place(comer);
	return together;
}

/* Does another crew hold the window, one that may be left behind, and not its own as well? Its
 * own does where it is on the same global batch: the floors of ranks differ within that. */
static bool held_by_others(const struct reader *reader)
{
	uint64_t own, others, slots = reader->ring->slots;
	uint64_t wants = reader_place(reader) + reader->ordered;
	if (crew_floors(reader, &own, &others))
		return false;
	return others + slots <= wants && own + slots >= wants + share_global_batch(&reader->share);
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
	peer_send_fd(reader->peer, &message, by_fd ? segment->fd : -1);
}

static void move_end(struct reader *reader)
{
	list_remove(&reader->move.link);
	reader->move.ring = NULL;
	reader->move.settled = false;
}

/* It stays; if others still hold it, that is looked at again. */
static void move_cancel(struct reader *reader)
{
	move_end(reader);
	if (list_empty(&reader->in_starved)) {
		pace_look(reader);
		return;
	}
	uint64_t now_ns = clock_ns();
	reader->due_ns = now_ns + PACE_RETRY_NS;
	pace_wake(reader->stream->server, reader->due_ns, now_ns);
}

/* Its leases stay where they are; its next batch comes from there. */
static void move_to(struct reader *reader, struct ring *ring)
{
	pace_starve_no_more(reader);
	list_remove(&reader->in_due);
	reader_enter(reader, ring);
	move_end(reader);
	reader->held_ns = 0;
	tell_ring(reader);
}

static bool cursor_reached(const struct cursor *cursor, const struct cursor *goal)
{
	return cursor->epoch > goal->epoch ||
	       (cursor->epoch == goal->epoch && cursor->batch >= goal->batch);
}

bool pace_leaves_at(const struct reader *reader, const struct cursor *batch)
{
	return reader->move.settled && cursor_reached(batch, &reader->move.at);
}

uint64_t pace_place(const struct reader *comer)
{
	const struct cursor *at = &comer->move.at;
	if (!comer->move.settled)
		return UINT64_MAX;
	return ring_ordinal(comer->move.ring, at->epoch, share_span(&comer->share, at).position);
}

/* Does the batch at `a` stand before that at `b` in the stream? Rings may count them differently.
 */
static bool place_before(const struct reader *reader, const struct cursor *a,
			 const struct reader *other, const struct cursor *b)
{
	if (a->epoch != b->epoch)
		return a->epoch < b->epoch;
	return share_span(&reader->share, a).position < share_span(&other->share, b).position;
}

/* The first batch that the window does not wholly hold: all before it stands or comes to stand. */
static struct cursor leave_at(const struct reader *reader)
{
	struct cursor at = reader->next;
	while (at.epoch < reader->end_epoch) {
		struct span span = share_span(&reader->share, &at);
		uint64_t ordinal = ring_ordinal(reader->ring, at.epoch, span.position);
		if (!ring_holds(reader->ring, ordinal + span.count - 1))
			break;
		share_advance(&reader->share, &at);
	}
	return at;
}

/* Would it get at least its first batch there, or be held again at once? */
static bool comer_fits(const struct reader *reader, const struct ring *ring)
{
	const struct cursor *at = &reader->move.at;
	if (!demand_fits(&reader->demand, &reader->share, at, ring))
		return false;
	struct span span = share_span(&reader->share, at);
	uint64_t last = ring_ordinal(ring, at->epoch, span.position) + span.count - 1;
	uint64_t floor = ring_floor(ring);
	return last < ring->slots || last - ring->slots < floor;
}

/* Where a comer leaves its ring is known once the new one stands. */
static void comer_settle(struct reader *reader)
{
	struct ring *ring = reader->move.ring;
	reader->move.at = leave_at(reader);
	if (reader->move.at.epoch >= reader->end_epoch || !comer_fits(reader, ring)) {
		move_cancel(reader);
		return;
	}
	reader->move.settled = true;
	if (!pace_leaves_at(reader, &reader->next))
		return;
	move_to(reader, ring);
	deliver(reader);
}

/* Nobody reads there yet, so the window can begin where the first of them will. */
static void ring_place(struct ring *ring)
{
	uint64_t first = UINT64_MAX;
	bool misfit = false;
	list_for_each(comer, next, &ring->comers, struct reader, move.link) {
		const struct cursor at = leave_at(comer);
		uint64_t position = share_span(&comer->share, &at).position;
		if (at.epoch >= comer->end_epoch ||
		    share_extent(&comer->share, at.origin) > ring->stride)
			continue;
		uint64_t ordinal = ring_ordinal(ring, at.epoch, position);
		first = ordinal < first ? ordinal : first;
		misfit |= !ring_holds(ring, ordinal);
	}
	if (misfit)
		ring->base = first;
}

void pace_ring_made(struct ring *ring)
{
	if (ring->made)
		ring_place(ring);
	list_for_each(comer, next, &ring->comers, struct reader, move.link)
		if (ring->made)
			comer_settle(comer);
		else
			move_cancel(comer);
}

void pace_fed(struct reader *reader)
{
	struct stream *stream = reader->stream;
	pace_starve_no_more(reader);
	if (pace_leaves_at(reader, &reader->next))
		move_to(reader, reader->move.ring);
	else if (reader->moves && list_empty(&reader->in_due) &&
		 stream->rings.next != stream->rings.prev)
		list_append(&stream->server->pace.due, &reader->in_due);
}

void pace_leave(struct reader *reader)
{
	struct ring *ring = reader->move.ring;
	list_remove(&reader->in_starved);
	list_remove(&reader->in_due);
	if (!ring)
		return;
	move_end(reader);
	if (ring->made) /* else it is seen to when it is */
		ring_left(ring);
}

/* -- fork --------------------------------------------------------------------------------- */

/* `move.at` of the crew is set. Does this ring hold all their places? */
static bool crew_fits(const struct reader *reader, const struct ring *ring)
{
	crew_for_each(member, next, reader) if (member->move.at.epoch < member->end_epoch &&
						!comer_fits(member, ring)) return false;
	return true;
}

static void fork_no_room(struct server *server, const struct fault *fault)
{
	server_count(server, COUNTER_FORKS_REFUSED, 1);
	if (!server->pace.told_budget)
		log_warning("a reader is held by a slower one for want of memory: %s", fault->text);
	server->pace.told_budget = true;
}

/* The ring to go on in: one that is there, or is being made, or one of their own. NULL if there
 * can be none. */
static struct ring *fork_ring(const struct reader *reader)
{
	const struct reader *first = reader;
	struct ring_plan plan;
	struct ring *own;
	struct fault fault;
	list_for_each(ring, next, &reader->stream->rings, struct ring, link)
		if (ring != reader->ring && crew_fits(reader, ring))
			return ring;
	crew_for_each(member, after, reader) if (place_before(member, &member->move.at, first,
							      &first->move.at)) first = member;
	int r = demand_plan(&first->demand, &first->share, &first->move.at, first->stream,
			    first->peer->uid, &plan, &fault);
	if (r)
		fork_no_room(reader->stream->server, &fault);
	return r == 0 && ring_new(&own, reader->stream, &plan) == 0 ? own : NULL;
}

/* False if it has to wait on. */
static bool fork_crew(struct reader *reader)
{
	struct server *server = reader->stream->server;
	if (!crew_may_move(reader) || !held_by_others(reader))
		return false;
	crew_for_each(member, next, reader) member->move.at = leave_at(member);
	struct ring *ring = fork_ring(reader);
	if (!ring)
		return false;
	server_count(server, COUNTER_FORKS, 1);
	server->pace.told_budget = false;
	crew_for_each(mate, after, reader)
	{
		mate->move.ring = ring;
		list_append(&ring->comers, &mate->move.link);
	}
	list_for_each(comer, last, &ring->comers, struct reader, move.link)
		if (ring->made && !comer->move.settled)
			comer_settle(comer);
	return true;
}

static void pace_on_timer(uv_timer_t *timer)
{
	struct server *server = timer->data;
	struct pace *pace = &server->pace;
	uint64_t now_ns = clock_ns();
	struct list seen;
	list_init(&seen);
	while (!list_empty(&pace->starved)) {
		struct reader *reader = list_entry(pace->starved.next, struct reader, in_starved);
		list_remove(&reader->in_starved);
		list_append(&seen, &reader->in_starved);
		if (!starves(reader))
			pace_starve_no_more(reader);
		else if (reader->due_ns <= now_ns && !server->stopping && !fork_crew(reader))
			reader->due_ns = now_ns + PACE_RETRY_NS;
	}
	while (!list_empty(&seen)) {
		struct reader *reader = list_entry(seen.next, struct reader, in_starved);
		list_remove(&reader->in_starved);
		list_append(&pace->starved, &reader->in_starved);
		if (!reader->move.ring)
			pace_wake(server, reader->due_ns, now_ns);
	}
	produce(server);
}

/* -- merge -------------------------------------------------------------------------------- */

/* The foremost reader of a ring; NULL if none has a batch to come. */
static const struct reader *ring_leader(const struct ring *ring)
{
	const struct reader *leader = NULL;
	list_for_each(reader, next, &ring->readers, struct reader, in_ring)
		if (!reader_ended(reader) &&
		    (!leader || place_before(leader, &leader->next, reader, &reader->next)))
			leader = reader;
	return leader;
}

const struct reader *pace_leader(const struct stream *stream)
{
	const struct reader *leader = NULL;
	list_for_each(ring, next, &stream->rings, struct ring, link) {
		const struct reader *its = ring_leader(ring);
		if (its && (!leader || place_before(leader, &leader->next, its, &its->next)))
			leader = its;
	}
	return leader;
}

/* Of two at one place the older is ahead. */
static bool ring_ahead(const struct ring *ring, const struct ring *other)
{
	const struct reader *leader = ring_leader(ring), *its = ring_leader(other);
	if (!leader || !its)
		return false;
	return place_before(its, &its->next, leader, &leader->next) ||
	       (!place_before(leader, &leader->next, its, &its->next) && ring->id < other->id);
}

static bool reader_near(const struct reader *reader, const struct ring *ring)
{
	if (!reader->moves || reader->move.ring || reader_ended(reader) ||
	    !demand_fits(&reader->demand, &reader->share, &reader->next, ring))
		return false;
	const struct reader *leader = ring_leader(ring);
	uint64_t position = share_span(&reader->share, &reader->next).position;
	uint64_t ordinal = ring_ordinal(ring, reader->next.epoch, position);
	return leader && reader_place(leader) <= ordinal + ring->slots / 2;
}

static bool crew_near(const struct reader *reader, const struct ring *ring)
{
	if (!reader_near(reader, ring))
		return false;
	if (!reader->job[0])
		return true;
	crew_for_each(member, next, reader) if (!reader_near(member, ring)) return false;
	return true;
}

/* All who can go at once: who stays is behind, so that nobody goes back and forth. */
static void merge_ring(struct ring *from, struct ring *into)
{
	struct list going;
	list_init(&going);
	list_for_each(reader, next, &from->readers, struct reader, in_ring) {
		if (!crew_near(reader, into))
			continue;
		list_remove(&reader->in_due);
		list_append(&going, &reader->in_due);
	}
	server_count(from->server, COUNTER_MERGES, 1);
	while (!list_empty(&going)) {
		struct reader *reader = list_entry(going.next, struct reader, in_due);
		move_to(reader, into);
		deliver(reader);
	}
}

void pace_merge(struct server *server)
{
	while (!list_empty(&server->pace.due)) {
		struct reader *reader = list_entry(server->pace.due.next, struct reader, in_due);
		list_remove(&reader->in_due);
		list_for_each(ring, next, &reader->stream->rings, struct ring, link) {
			if (!ring->made || ring == reader->ring || !crew_near(reader, ring) ||
			    !ring_ahead(ring, reader->ring))
				continue;
			merge_ring(reader->ring, ring);
			break;
		}
	}
}
