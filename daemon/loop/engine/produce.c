// SPDX-License-Identifier: MIT
#include "loop/engine/produce.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "loop/engine/deliver.h"
#include "loop/engine/index_task.h"
#include "loop/engine/migrate.h"
#include "loop/policy/decode_sharing.h"
#include "loop/policy/scheduler.h"
#include "loop/server.h"
#include "loop/state/bad_samples.h"
#include "loop/state/catalog.h"
#include "loop/state/reader.h"
#include "loop/state/ring.h"
#include "loop/state/stream.h"
#include "loop/state/user.h"
#include "loop/state/wait_time.h"

/* A buffer above this goes back to the system after its job: one huge file is no habit. */
#define PRODUCE_KEEP_BYTES ((size_t)1 << 20)
/* So much work is ordered ahead for each worker: a few milliseconds, so that a newcomer's need is
 * seen soon and yet no worker waits for the loop; no more jobs than that; and with half of it
 * done the rest is made up. */
#define PRODUCE_AHEAD_NS 4000000
#define PRODUCE_AHEAD_JOBS 128
#define PRODUCE_PARTS 2
/* Above so many readers the loop is woken for each job: looking at them would cost more. */
#define PRODUCE_READERS_LOOKED_AT 64

void produce_hungry(struct reader *reader)
{
	if (reader->blocked) {
		reader->blocked = false;
		wait_note(reader);
	}
	turn_enter(reader);
}

void produce_unblock(struct ring *ring)
{
	list_for_each(reader, next, &ring->readers, struct reader, in_ring)
		if (reader->blocked)
			produce_hungry(reader);
}

void produce_unblock_kin(struct ring *ring)
{
	list_for_each(stream, next, &ring->stream->sharer, struct stream, sharer)
		list_for_each(other, after, &stream->rings, struct ring, link)
			produce_unblock(other);
}

static struct job *job_get(struct server *server)
{
	struct job *job = server->spare;
	if (!job)
		return calloc(1, sizeof(*job));
	server->spare = job->next;
	return job;
}

static void job_put(struct server *server, struct job *job)
{
	buffer_trim(&job->bytes, PRODUCE_KEEP_BYTES);
	buffer_trim(&job->mask, PRODUCE_KEEP_BYTES);
	buffer_trim(&job->partner_bytes, PRODUCE_KEEP_BYTES);
	job->next = server->spare;
	server->spare = job;
}

static struct slot *job_slot(const struct job *job)
{
	struct ring *ring = job->owner;
	return &ring->slot[job->slot];
}

/* A job for the empty slot of this position, which is FILLING from here on; NULL: no memory. */
static struct job *job_new(struct ring *ring, uint64_t epoch, uint64_t position)
{
	struct job *job = job_get(ring->server);
	if (!job)
		return NULL;
	uint64_t ordinal = ring_ordinal(ring, epoch, position);
	uint32_t number = ring_slot_number(ring, ordinal);
	job->recipe = &ring->stream->recipe;
	job->entry = stream_place(ring->stream, epoch, position, &job->key);
	job->sample = job_sample(job->recipe, job->entry);
	if (job->recipe->fields.mixes)
		job->partner = stream_partner(ring->stream, epoch, position, &job->partner_key);
	for (uint32_t i = 0; i < job->recipe->fields.count; i++)
		job->field[i] = segment_at(&ring->segment, i, number);
	job->owner = ring;
	job->slot = number;
	job->sharer = NULL;
	job->bytes.size = job->mask.size = job->partner_bytes.size = 0;
	job->fetch_ns = job->fetched_ns = 0; /* it may have nothing to be fetched */
	slot_fill(ring_slot(ring, ordinal));
	ring->jobs++;
	return job;
}

/* What is ordered in one go is handed over in one. */
static void job_order(struct server *server, struct job *job, struct turn *turn)
{
	job->turn = turn;
	job->cost_ns = turn->cost_ns ? turn->cost_ns : PRODUCE_AHEAD_NS;
	job->ordered_ns = clock_ns();
	job->next = NULL;
	*server->ordered_end = job;
	server->ordered_end = &job->next;
	server->queued_ns += job->cost_ns;
	server_count(server, COUNTER_QUEUED, 1);
}

static void job_back(struct server *server, const struct job *job)
{
	server->queued_ns -= job->cost_ns;
	server_count(server, COUNTER_QUEUED, -1);
}

static void produce_submit(struct server *server)
{
	if (server->ordered)
		pool_submit(server->pool, server->ordered);
	produce_init(server);
}

/* Order one sample, and with it what kin streams want of the same picture. False: no memory. */
static bool order_sample(struct reader *reader, uint64_t epoch, uint64_t position)
{
	struct ring *ring = reader->ring;
	struct sharer sharer[JOB_SHARERS_MAX];
	struct job *first = job_new(ring, epoch, position), *last = first;
	if (!first) {
		ring->server->short_of_memory = true;
		return false;
	}
	unsigned count = kin_find(ring, epoch, position, sharer);
	for (unsigned i = 0; i < count && last; i++) {
		last->sharer = job_new(sharer[i].ring, epoch, sharer[i].position);
		last = last->sharer;
	}
	job_order(ring->server, first, reader->turn);
	return true;
}

/* Is it beyond what its reader needs soon, and kin that wants the same picture has no room for it
 * yet? */
static bool reader_awaits_kin(const struct reader *reader, uint64_t position, uint64_t ordinal)
{
	struct ring *ring = reader->ring;
	uint64_t soon = share_global_batch(&reader->share);
	soon = soon > ring->slots / 4 ? soon : ring->slots / 4;
	return !reader_ended(reader) && ordinal - reader_place(reader) >= soon &&
	       kin_comes(ring, reader->want.epoch, position);
}

/* Walk the reader's wishes to the next that is not made or ordered yet, and order it. False if
 * there is none now. */
static bool reader_order(struct reader *reader)
{
	struct ring *ring = reader->ring;
	if (reader->wanted < reader->announced) { /* others ordered for it, and it has had them */
		reader->want = reader->next;
		reader->wanted = reader->announced;
		reader->ordered = 0;
	}
	while (reader->want.epoch < reader->end_epoch) {
		struct span span = share_span(&reader->share, &reader->want);
		uint64_t position = span.position + reader->ordered;
		if (pace_leaves_at(reader, &reader->want)) {
			reader->blocked = true;
			return false;
		}
		uint64_t ordinal = ring_ordinal(ring, reader->want.epoch, position);
		if (!ring_reach(ring, ordinal)) {
			reader->blocked = true;
			pace_look(reader);
			return false;
		}
		bool empty = ring_slot(ring, ordinal)->state == SLOT_EMPTY;
		if (empty && (reader_awaits_kin(reader, position, ordinal) ||
			      !order_sample(reader, reader->want.epoch, position))) {
			reader->blocked = true; /* or out of memory: again when something moves */
			ring_rouse(ring);
			return false;
		}
		reader->wanted++;
		if (++reader->ordered == span.count) {
			reader->ordered = 0;
			share_advance(&reader->share, &reader->want);
		}
		if (empty)
			return true;
	}
	return false;
}

/* So many jobs are always ordered ahead, that no thread waits for another. */
static uint64_t produce_least(const struct server *server)
{
	return 2 * ((uint64_t)server->config->workers + server->config->fetchers +
		    server->counters[COUNTER_STUCK_READS]);
}

/* Is there at least `parts` of PRODUCE_PARTS of what the pool should hold? */
static bool produce_holds(const struct server *server, unsigned parts)
{
	uint64_t workers = server->config->workers, jobs = server->counters[COUNTER_QUEUED];
	return jobs * PRODUCE_PARTS >= produce_least(server) * parts &&
	       (server->queued_ns * PRODUCE_PARTS >= PRODUCE_AHEAD_NS * workers * parts ||
		jobs * PRODUCE_PARTS >= PRODUCE_AHEAD_JOBS * workers * parts);
}

/* A file that is only to be looked at, while nobody wants a sample. */
static bool produce_visit(struct server *server)
{
	return server->counters[COUNTER_QUEUED] < produce_least(server) &&
	       visit_order(server, true);
}

static void produce_order(struct server *server)
{
	while (!produce_holds(server, PRODUCE_PARTS)) {
		struct reader *reader = turn_next(server);
		if (!reader && produce_visit(server))
			continue;
		if (!reader)
			break;
		turn_leave(reader);
		if (!reader_order(reader)) {
			wait_note(reader);
			continue;
		}
		turn_charge(reader->turn);
		turn_enter(reader);
	}
	produce_submit(server);
}

/* Jobs that at least have to be done before there is anything to do for this ring. */
static uint64_t ring_patience(const struct ring *ring)
{
	uint64_t least = ring->obstructed ? 1 : UINT64_MAX;
	list_for_each(reader, next, &ring->readers, struct reader, in_ring) {
		/* A job may be for several of a batch, if samples are echoed. */
		uint64_t echo = ring->stream->order.echo;
		uint64_t missing = deliver_missing(reader);
		missing = missing / echo + (missing % echo != 0);
		if (missing < least)
			least = missing;
	}
	return least;
}

/* When the loop is to be told of what is done: to deliver a batch, or to order more. */
static void produce_wait(struct server *server)
{
	uint64_t least = server->counters[COUNTER_QUEUED] / PRODUCE_PARTS;
	if (!list_empty(&server->dying) ||
	    server->counters[COUNTER_READERS] > PRODUCE_READERS_LOOKED_AT)
		least = 1;
	list_for_each(user, later, &server->hungry, struct user, in_line)
		if (user_full(server, user) && user->queued / PRODUCE_PARTS < least)
			least = user->queued / PRODUCE_PARTS;
	list_for_each(stream, next, &server->streams, struct stream, link) {
		list_for_each(ring, after, &stream->rings, struct ring, link) {
			uint64_t jobs = least > 1 ? ring_patience(ring) : 1;
			if (jobs < least)
				least = jobs;
		}
	}
	pool_wake_at(server->pool, least > 1 ? (unsigned)least : 1);
}

void produce(struct server *server)
{
	if (!server->stopping) {
		visit_order(server, false);
		pace_merge(server);
	}
	if (!server->stopping && !produce_holds(server, PRODUCE_PARTS - 1))
		produce_order(server);
	produce_wait(server);
}

static unsigned job_error(enum job_outcome outcome)
{
	switch (outcome) {
	case JOB_READ:
		return ERROR_SAMPLE_READ;
	case JOB_CHANGED:
		return ERROR_SAMPLE_CHANGED;
	case JOB_FORMAT:
		return ERROR_SAMPLE_FORMAT;
	case JOB_CORRUPT:
		return ERROR_SAMPLE_CORRUPT;
	case JOB_LIMIT:
		return ERROR_SAMPLE_LIMIT;
	case JOB_TRANSFORM:
		return ERROR_SAMPLE_TRANSFORM;
	default:
		return ERROR_INTERNAL;
	}
}

static void produce_note_bad(struct server *server, const struct stream *stream,
			     const struct job *job)
{
	char path[256];
	server_count(server, COUNTER_SAMPLES_BAD, 1);
	if (job->outcome == JOB_CHANGED)
		server_count(server, COUNTER_FILES_CHANGED, 1);
	if (!bad_note(stream->entry, job->sample, job_error(job->outcome), &job->fault))
		return;
	dataset_path(stream->entry->dataset, job->sample, path, sizeof(path));
	log_warning("dataset %s: bad sample %llu (%s): %s", stream->entry->spec.path,
		    (unsigned long long)job->sample, path, job->fault.text);
}

static void produce_spoil(struct slot *slot, const struct job *job)
{
	struct slot_note *note = calloc(1, sizeof(*note));
	if (note)
		*note = (struct slot_note){job->sample, job_error(job->outcome), job->fault};
	slot_spoil(slot, note); /* without a note the words are lost, not the error */
}

/* What was read and decoded for this one. */
static void produce_count(struct server *server, const struct job *job, bool read)
{
	struct stream *stream = ((const struct ring *)job->owner)->stream;
	if (job->bytes.size) {
		server_count(server, COUNTER_SAMPLES_READ, 1);
		server_count(server, COUNTER_BYTES_READ,
			     (int64_t)(job->bytes.size + job->mask.size + job->partner_bytes.size));
	}
	if (job->bytes.size || (read && !job->shared)) {
		server_count(server, COUNTER_SAMPLES_DECODED, 1);
		stream->decoded++;
	}
	if (job->shared && job->outcome == JOB_DONE)
		server_count(server, COUNTER_DECODES_SHARED, 1);
	if (job->substituted)
		server_count(server, COUNTER_SAMPLES_SUBSTITUTED, 1);
}

static void produce_take(struct server *server, struct job *job)
{
	struct ring *ring = job->owner;
	struct slot *slot = job_slot(job);
	bool good = job->outcome == JOB_DONE;
	if (!good)
		produce_note_bad(server, ring->stream, job);
	if (good || job->substituted)
		slot_done(slot, job->substituted);
	else
		produce_spoil(slot, job);
	uint32_t number = job->slot;
	job_put(server, job);
	if (!ring->abandoned)
		deliver_slot(ring, number);
	ring_job_back(ring);
}

/* All that came of one decode. */
static void produce_take_kin(struct server *server, struct job *job)
{
	bool read = job->bytes.size > 0;
	job_back(server, job);
	server_count(server, COUNTER_FETCH_NS, (int64_t)job->fetch_ns);
	server_count(server, COUNTER_WORK_NS, (int64_t)job->work_ns);
	server_count(server, COUNTER_TRANSFORM_NS, (int64_t)job->transform_ns);
	server->made = (struct wait_sample){job->ordered_ns, job->fetched_ns};
	/* A thread that reads is taken from others as well. Who ordered it pays for all. */
	turn_settle(job->turn, job->work_ns + job->fetch_ns);
	while (job) {
		struct job *sharer = job->sharer;
		produce_count(server, job, read);
		produce_take(server, job);
		job = sharer;
	}
}

void produce_done(struct server *server)
{
	struct job *job = pool_take(server->pool);
	while (job) {
		struct job *next = job->next;
		if (visit_owns(job))
			visit_take(server, job);
		else
			produce_take_kin(server, job);
		job = next;
	}
	produce(server);
}

/* Is there a reader who still has to be given what this job is for? */
static bool job_wanted(const struct job *job)
{
	const struct ring *ring = job->owner;
	uint64_t ordinal = ring_ordinal_of(ring, job->slot);
	return ring_wanted(ring, ordinal / ring->stride, ordinal % ring->stride);
}

/* Take out of a queued job what nobody wants of this ring; NULL if nothing is left of it. */
static struct job *produce_part(struct ring *ring, struct job *job)
{
	struct job *first = NULL, **end = &first;
	while (job) {
		struct job *sharer = job->sharer;
		if (job->owner == ring && !job_wanted(job)) {
			slot_unfill(job_slot(job));
			assert(ring->jobs > 0);
			ring->jobs--;
			server_count(ring->server, COUNTER_SAMPLES_CANCELLED, 1);
			job_put(ring->server, job);
		} else {
			*end = job;
			end = &job->sharer;
			job->sharer = NULL;
		}
		job = sharer;
	}
	return first;
}

void produce_cancel(struct ring *ring)
{
	struct job *job = pool_cancel(ring->server->pool, ring);
	while (job) {
		struct job *next = job->next;
		job_back(ring->server, job);
		struct turn *turn = job->turn;
		struct job *rest = produce_part(ring, job);
		if (rest) /* others wait for it; it is read again if it was read already */
			job_order(ring->server, rest, turn);
		else
			turn_refund(turn);
		job = next;
	}
	produce_submit(ring->server);
	produce_wait(ring->server); /* fewer are left than were to be waited for */
}

void produce_init(struct server *server)
{
	server->ordered = NULL;
	server->ordered_end = &server->ordered;
}

void produce_deinit(struct server *server)
{
	while (server->spare) {
		struct job *job = server->spare;
		server->spare = job->next;
		buffer_deinit(&job->bytes);
		buffer_deinit(&job->mask);
		buffer_deinit(&job->partner_bytes);
		free(job);
	}
}
