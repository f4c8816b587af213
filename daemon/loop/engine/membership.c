// SPDX-License-Identifier: MIT
#include "loop/engine/membership.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "loop/engine/wake.h"
#include "loop/policy/quota.h"
#include "loop/policy/reader_status.h"
#include "loop/policy/straggler.h"
#include "loop/state/core.h"
#include "loop/state/lease.h"
#include "loop/state/stream.h"
#include "loop/state/user.h"

static void reader_init(struct reader *reader, const struct reader_request *request)
{
	reader->share = request->share;
	reader->ring_request = request->ring_request;
	reader->pace = request->pace;
	reader->moves = request->moves;
	reader->end_epoch = request->epochs ? request->epoch + request->epochs : READER_EPOCHS_MAX;
	reader->inflight = request->ring_request.inflight;
	reader->priority = request->priority;
	memcpy(reader->job, request->job, sizeof(reader->job));
	reader->next = (struct cursor){request->epoch, request->position, 0};
	share_settle(&reader->share, &reader->next);
	reader->start = reader->want = reader->next;
	reader->attached_ns = reader->since_ns = clock_ns();
	wait_time_change(&reader->wait, WAIT_FOR_BATCH, NULL, reader->attached_ns);
	struct list *links[] = {&reader->in_due,       &reader->in_runnable,
				&reader->in_held_back, &reader->in_catching_up,
				&reader->in_ring,      &reader->move.link,
				&reader->claim.link,   &reader->move.claim.link};
	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++)
		list_init(links[i]);
}

bool membership_back(struct ring *ring, const struct share *share, const struct cursor *from)
{
	if (ring->backing.pending)
		return true;
	uint64_t missing = ring_missing_bytes(ring, share, from);
	return missing <= quota_ring(ring->core, ring->uid).bytes &&
	       ring_back(ring, share, from) == 0;
}

/* Ranks without a job's name are of one if they read one stream. */
static bool is_other_rank(const struct reader *reader, const struct reader *other)
{
	if (reader->job[0] || other->job[0])
		return straggler_same_job(reader, other);
	return reader->uid == other->uid && reader->stream == other->stream &&
	       reader->share.world == other->share.world && reader->share.world > 1;
}

/* A reader keeps what it gets here: so the sum of the readers without series never falls. */
static void series_begin(struct reader *reader, struct core *core)
{
	struct user *user = reader->flow->user;
	reader->has_series = user->series < USER_SERIES_MAX && core->series < CORE_SERIES_MAX;
	user->series += reader->has_series;
	core->series += reader->has_series;
	reader->job_number = reader->id;
	list_for_each(other, next, &core->readers, struct reader, in_core)
		if (other != reader && is_other_rank(reader, other)) {
			reader->job_number = other->job_number;
			break;
		}
}

static void series_end(const struct reader *reader, struct core *core)
{
	struct user *user = reader->flow->user;
	const struct wait_time wait = reader_wait_now(reader);
	user->series -= reader->has_series;
	core->series -= reader->has_series;
	if (reader->has_series)
		return;
	user->gone.delivered += reader->announced;
	for (int i = 0; i < WAIT_CAUSES; i++)
		user->gone.wait_ns[i] += wait.ns[i];
}

int membership_join(struct reader **out, struct ring *ring, const struct reader_request *request,
		    uid_t uid, struct outbox *outbox, struct lease_book *book)
{
	struct core *core = ring->core;
	struct reader *reader = calloc(1, sizeof(*reader));
	if (!reader)
		return -ENOMEM;
	if (flow_get(&reader->flow, core->users, uid, ring->stream->id) < 0) {
		free(reader);
		return -ENOMEM;
	}
	reader_init(reader, request);
	reader->id = core_new_id(core);
	reader->uid = uid;
	reader->outbox = outbox;
	reader->book = book;
	reader->stream = ring->stream;
	reader->stream->users++;
	reader_enter(reader, ring);
	series_begin(reader, core);
	list_append(&core->readers, &reader->in_core);
	core_count(core, COUNTER_READERS, 1);
	core_count(core, COUNTER_READERS_TOTAL, 1);
	wake_reader(reader);
	*out = reader;
	return 0;
}

/* Take the reader out of its ring, which keeps the samples ordered for it; it begins to order
 * again.
 */
static void membership_exit(struct reader *reader)
{
	reader_exit(reader);
	flow_leave(reader);
	list_remove(&reader->in_due);
	reader->want = reader->next;
	reader->wanted = reader->announced;
	reader->ordered = reader->checked = 0;
	reader->stalled = false;
}

void membership_move(struct reader *reader, struct ring *ring)
{
	membership_exit(reader);
	reader_enter(reader, ring);
	wake_reader(reader);
}

/* Cancel the reader's migration. */
static void membership_cancel_move(struct reader *reader)
{
	struct ring *ring = reader->move.ring;
	list_remove(&reader->in_held_back);
	list_remove(&reader->in_catching_up);
	if (!ring)
		return;
	list_remove(&reader->move.link);
	ring_unclaim(ring, &reader->move.claim);
	reader->move.ring = NULL;
	reader->move.settled = false;
}

void membership_end(struct reader *reader)
{
	membership_cancel_move(reader);
	membership_exit(reader);
}

void membership_leave(struct reader *reader)
{
	struct stream *stream = reader->stream;
	const struct log_facts facts = reader_facts(reader);
	log_about(&facts, LOG_LEVEL_DEBUG, "reader %llu left: %llu samples were delivered to it",
		  (unsigned long long)reader->id, (unsigned long long)reader->announced);
	series_end(reader, stream->core);
	lease_book_forget(reader->book, reader);
	if (reader->ring)
		membership_end(reader);
	reader_forget_left(reader);
	flow_put(reader->flow);
	list_remove(&reader->in_core);
	core_count(stream->core, COUNTER_READERS, -1);
	free(reader);
	stream_put(stream);
}
