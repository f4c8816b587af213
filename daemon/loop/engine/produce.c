// SPDX-License-Identifier: MIT
#include "loop/engine/produce.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log_user.h"
#include "loop/engine/deliver.h"
#include "loop/engine/index_task.h"
#include "loop/engine/job_queue.h"
#include "loop/engine/lend.h"
#include "loop/engine/measure.h"
#include "loop/engine/migrate.h"
#include "loop/policy/decode_sharing.h"
#include "loop/policy/scheduler.h"
#include "loop/policy/straggler.h"
#include "loop/state/bad_samples.h"
#include "loop/state/catalog.h"
#include "loop/state/core.h"
#include "loop/state/reader.h"
#include "loop/state/stream.h"
#include "loop/state/user.h"
#include "work/pool.h"
#include "work/sample.h"

/* So much work is ordered ahead for each worker: a few milliseconds, so that a newcomer is served
 * soon and yet no worker waits for the loop; no more jobs than AHEAD_JOBS; and with half of it done
 * the rest is filled up. */
#define AHEAD_NS 4000000
#define AHEAD_PARTS 2
/* Above so many readers the loop is woken for each job: looking at them all would cost more. */
#define READERS_LOOKED_AT 64

/* -- ordering ----------------------------------------------------------------------------- */

/* Order one sample, and with it what sharing streams want of the same picture. False: no memory. */
static bool order_sample(struct reader *reader, const struct place *at)
{
	struct ring *ring = reader->ring;
	struct sharer sharers[JOB_SHARERS_MAX];
	struct job *first = job_queue_new(ring, at->epoch, at->position), *last = first;
	if (!first) {
		ring->core->short_of_memory = true;
		return false;
	}
	unsigned count = decode_sharing_find(ring, at->epoch, at->position, sharers);
	for (unsigned i = 0; i < count && last; i++) {
		struct ring *other = sharers[i].ring;
		if (!ring_advance(other, ring_ordinal(other, at->epoch, sharers[i].position)))
			continue;
		last->sharer = job_queue_new(other, at->epoch, sharers[i].position);
		last = last->sharer;
	}
	job_queue_order(ring->core, first, reader->flow);
	return true;
}

/* Is it beyond what the reader needs soon, while a stream that wants the same picture has no room
 * for it yet? */
static bool reader_awaits_sharers(const struct reader *reader, const struct place *at,
				  uint64_t ordinal)
{
	struct ring *ring = reader->ring;
	uint64_t soon = share_global_batch(&reader->share);
	soon = soon > ring->slots / 4 ? soon : ring->slots / 4;
	return !reader_ended(reader) && ordinal - reader_place(reader) >= soon &&
	       decode_sharing_soon(ring, at->epoch, at->position);
}

/* Others ordered for it, and it has had those batches. */
static void reader_catch_up(struct reader *reader)
{
	if (reader->wanted >= reader->announced)
		return;
	reader->want = reader->next;
	reader->wanted = reader->announced;
	reader->ordered = 0;
}

/* Walk the reader's wishes to the next that is not made or ordered yet, and order it. False if
 * there is none now. */
static bool reader_order(struct reader *reader)
{
	struct ring *ring = reader->ring;
	reader_catch_up(reader);
	while (reader->want.epoch < reader->end_epoch) {
		struct batch_span span = share_span(&reader->share, &reader->want);
		struct place at = share_place(&reader->share, reader->want.epoch,
					      span.position + reader->ordered);
		if (lend_is_full(ring)) { /* again when one of them is made */
			reader->code_wait = true;
			ring->wake_at = 0;
			return false;
		}
		if (straggler_leaves_at(reader, &reader->want)) {
			reader->slot_wait = true;
			return false;
		}
		uint64_t ordinal = ring_ordinal(ring, at.epoch, at.position);
		if (!ring_advance(ring, ordinal)) {
			reader->slot_wait = true;
			migrate_watch(reader);
			return false;
		}
		bool empty = ring_slot(ring, ordinal)->state == SLOT_EMPTY;
		if (empty &&
		    (reader_awaits_sharers(reader, &at, ordinal) || !order_sample(reader, &at))) {
			reader->slot_wait = true; /* again when something moves */
			ring->wake_at = 0;
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

/* So many jobs are always ordered ahead, so that no thread waits for another. */
static uint64_t least_jobs(const struct core *core)
{
	return 2 * ((uint64_t)core_workers(core) + core_fetchers(core) +
		    core->counters[COUNTER_STUCK_READS]);
}

/* Is there at least `parts` of AHEAD_PARTS of what the pool should hold? */
static bool pool_has(const struct core *core, unsigned parts)
{
	uint64_t workers = core_workers(core), jobs = core->counters[COUNTER_QUEUED];
	return jobs * AHEAD_PARTS >= least_jobs(core) * parts &&
	       (core->jobs->queued_ns * AHEAD_PARTS >= AHEAD_NS * workers * parts ||
		jobs * AHEAD_PARTS >= AHEAD_JOBS * workers * parts);
}

static struct reader *next_reader(struct core *core)
{
	unsigned queued_max = core->config->queued_per_user;
	users_refresh(core->users, queued_max, core_workers(core), core_fetchers(core));
	struct reader *reader = scheduler_pick(core->users, queued_max);
	if (reader)
		flow_scheduled(reader);
	return reader;
}

/* A file that an index task wants read, while no reader wants a sample. */
static bool order_index_file(struct core *core)
{
	return core->counters[COUNTER_QUEUED] < least_jobs(core) && index_task_order(core, true);
}

static void fill_pool(struct core *core)
{
	bool sated = false;
	while (!pool_has(core, AHEAD_PARTS)) {
		struct reader *reader = next_reader(core);
		if (!reader && order_index_file(core))
			continue;
		sated = !reader;
		if (sated)
			break;
		flow_leave(reader);
		if (!reader_order(reader)) {
			measure_wait(reader);
			continue;
		}
		flow_charge(reader->flow);
		flow_enter(reader);
	}
	pool_set_sated(core->pool, sated);
	job_queue_submit(core);
}

void produce_order(struct core *core)
{
	if (core->stopping)
		return;
	index_task_order(core, false);
	lend_all(core);
	if (!pool_has(core, AHEAD_PARTS - 1))
		fill_pool(core);
}

/* -- waking the loop ---------------------------------------------------------------------- */

/* Jobs that at least have to be done before there is anything to do for this ring. */
static uint64_t ring_wakeup(const struct ring *ring)
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

void produce_set_wakeup(struct core *core)
{
	uint64_t least = core->counters[COUNTER_QUEUED] / AHEAD_PARTS;
	if (!list_empty(&core->abandoned) || core->counters[COUNTER_READERS] > READERS_LOOKED_AT)
		least = 1;
	list_for_each(user, later, &core->users->runnable, struct user, in_runnable)
		if (user_is_full(user, core->config->queued_per_user) &&
		    user->queued / AHEAD_PARTS < least)
			least = user->queued / AHEAD_PARTS;
	list_for_each(stream, next, &core->streams, struct stream, link) {
		list_for_each(ring, after, &stream->rings, struct ring, link) {
			uint64_t jobs = least > 1 ? ring_wakeup(ring) : 1;
			if (jobs < least)
				least = jobs;
		}
	}
	pool_wake_at(core->pool, least > 1 ? (unsigned)least : 1);
}

/* -- finished jobs ------------------------------------------------------------------------ */

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
	case JOB_USER:
		return ERROR_SAMPLE_USER;
	case JOB_LARGER:
		return ERROR_SAMPLE_LARGER;
	default:
		return ERROR_INTERNAL;
	}
}

static void note_bad_sample(struct core *core, struct dataset_entry *entry, const struct job *job,
			    uid_t uid)
{
	char path[PATH_MAX];
	dataset_path(entry->dataset, job->sample, path, sizeof(path));
	core_count(core, COUNTER_SAMPLES_BAD, 1);
	if (job->outcome == JOB_CHANGED) {
		core_count(core, COUNTER_FILES_CHANGED, 1);
		entry->changed = true;
	}
	const struct bad_sample seen = {.dataset = entry->id,
					.sample = job->sample,
					.root = entry->spec.path,
					.path = path,
					.code = job_error(job->outcome),
					.fault = job->fault};
	if (bad_samples_note(core->bad_samples, &seen))
		log_user_about(&(struct log_facts){.uid = uid, .dataset = entry->id}, LOG_SAMPLES,
			       LOG_LEVEL_WARNING, "dataset %s: bad sample %llu (%.255s): %s",
			       entry->spec.path, (unsigned long long)job->sample, path,
			       job->fault.text);
}

static void spoil_slot(struct slot *slot, const struct job *job)
{
	struct slot_note *note = calloc(1, sizeof(*note));
	if (note)
		*note = (struct slot_note){job->sample, job_error(job->outcome), job->fault,
					   job->larger, job->larger_bytes};
	slot_spoil(slot, note); /* without a note the words are lost, not the error */
}

static uint64_t bytes_read(const struct job *job)
{
	uint64_t bytes = job->own.source.bytes_read + job->mask.source.bytes_read;
	for (uint32_t i = 0; i < job->partners; i++)
		bytes += job->partner[i].own.source.bytes_read +
			 job->partner[i].mask.source.bytes_read;
	return bytes;
}

/* Count the reads and decodes of this job. `decoded`: a file was, for its chain. */
static void count_job(struct core *core, const struct job *job, bool decoded)
{
	struct stream *stream = ((const struct ring *)job->owner)->stream;
	stream->stage_hits += job->staged.hits;
	stream->stage_misses += job->staged.misses;
	if (job->own.source.bytes_read) {
		core_count(core, COUNTER_SAMPLES_READ, 1);
		core_count(core, COUNTER_BYTES_READ, (int64_t)bytes_read(job));
	}
	if (job->outcome == JOB_DONE || job->substituted)
		core_count(core, COUNTER_SAMPLES_MADE, 1);
	if (job->outcome == JOB_UNWANTED) {
		core_count(core, COUNTER_SAMPLES_CANCELLED, 1);
	} else if (job->substituted || (decoded && !job->shared)) {
		core_count(core, COUNTER_SAMPLES_DECODED, 1);
		stream->decoded++;
	}
	if (job->shared && job->outcome == JOB_DONE)
		core_count(core, COUNTER_DECODES_SHARED, 1);
	if (job->substituted)
		core_count(core, COUNTER_SAMPLES_SUBSTITUTED, 1);
}

/* `uid`: who ordered it. */
static void take_sample(struct core *core, struct job *job, const struct wait_sample *made,
			uid_t uid)
{
	struct ring *ring = job->owner;
	struct slot *slot = job_slot(job);
	uint32_t number = job->slot;
	bool good = job->outcome == JOB_DONE, wanted = job->outcome != JOB_UNWANTED;
	if (job->outcome == JOB_MEMORY && !job->fault.text[0])
		fault_say(&job->fault, -ENOMEM, "out of memory: fewer workers need less");
	if (!good && wanted && job->outcome != JOB_LARGER) /* its reader makes room */
		note_bad_sample(core, ring->stream->entry, job, uid);
	if (!wanted)
		slot_unfill(slot);
	else if (good || job->substituted)
		slot_done(slot, job->substituted, made->made_ns);
	else
		spoil_slot(slot, job);
	job_queue_free(core, job);
	if (!ring->abandoned)
		deliver_slot_made(ring, number, made);
	assert(ring->jobs > 0);
	ring->jobs--;
	if (ring->abandoned || ring->obstructed || ring->stream->order.map)
		ring_touch(ring);
}

static void count_time(struct core *core, const struct job *job)
{
	uint64_t decode_ns =
		job->work_ns > job->transform_ns ? job->work_ns - job->transform_ns : 0;
	core_count(core, COUNTER_FETCH_NS, (int64_t)job->fetch_ns);
	core_count(core, COUNTER_WORK_NS, (int64_t)job->work_ns);
	core_count(core, COUNTER_TRANSFORM_NS, (int64_t)job->transform_ns);
	if (sample_needs_fetch(job))
		histogram_add(&core->histograms[HISTOGRAM_FETCH], job->fetch_ns);
	histogram_add(&core->histograms[HISTOGRAM_DECODE], decode_ns);
	histogram_add(&core->histograms[HISTOGRAM_TRANSFORM], job->transform_ns);
}

static void take_chain(struct core *core, struct job *job, uid_t uid)
{
	const struct wait_sample made = {job->ordered_ns, job->fetched_ns, job->made_ns};
	bool decoded = job->decoded;
	while (job) {
		struct job *sharer = job->sharer;
		count_job(core, job, decoded);
		take_sample(core, job, &made, uid);
		job = sharer;
	}
}

/* All that came of one decode. */
static void take_decode(struct core *core, struct job *job)
{
	if (job->clips)
		catalog_note_clipped(((const struct ring *)job->owner)->stream->entry, job->sample);
	uid_t uid = ((const struct flow *)job->flow)->user->uid;
	job_queue_back(core, job);
	count_time(core, job);
	/* A thread that reads is taken from others as well. Who ordered it pays for all. */
	flow_settle(job->flow, job->work_ns + job->fetch_ns);
	take_chain(core, job, uid);
}

/* Take the jobs that no producer could make. */
static void take_failed(struct core *core)
{
	struct job *job = lend_take_failed(core);
	while (job) {
		struct job *next = job->next;
		struct flow *flow = job->flow;
		job->own.source.bytes_read = 0;
		job->decoded = job->shared = false;
		job->made_ns = job->fetched_ns = clock_ns();
		take_chain(core, job, flow->user->uid);
		flow_forgo(flow);
		job = next;
	}
}

void produce_take_finished(struct core *core)
{
	struct job *job = pool_take(core->pool);
	while (job) {
		struct job *next = job->next;
		if (index_task_owns(job)) {
			index_task_take(core, job);
		} else {
			lend_copied(job);
			if (job->outcome == JOB_AWAITS)
				lend_take(core, job);
			else
				take_decode(core, job);
		}
		job = next;
	}
	take_failed(core);
}

/* -- cancelling --------------------------------------------------------------------------- */

static bool job_is_wanted(const struct job *job)
{
	const struct ring *ring = job->owner;
	uint64_t ordinal = ring_ordinal_of(ring, job->slot);
	return readers_want(ring, ordinal / ring->stride, ordinal % ring->stride);
}

/* Take out of a queued job what nobody wants of this ring; NULL if nothing is left of it. */
static struct job *cancel_unwanted(struct ring *ring, struct job *job)
{
	struct job *first = NULL, **end = &first;
	while (job) {
		struct job *sharer = job->sharer;
		if (job->owner == ring && !job_is_wanted(job)) {
			slot_unfill(job_slot(job));
			assert(ring->jobs > 0);
			ring->jobs--;
			core_count(ring->core, COUNTER_SAMPLES_CANCELLED, 1);
			job_queue_free(ring->core, job);
		} else {
			*end = job;
			end = &job->sharer;
			job->sharer = NULL;
		}
		job = sharer;
	}
	return first;
}

/* Cancel jobs of the ring that wait for a producer; those wanted by others go on waiting. */
static void cancel_lent(struct ring *ring)
{
	struct job *job = lend_cancel(ring);
	while (job) {
		struct job *next = job->next;
		struct flow *flow = job->flow;
		struct job *rest = cancel_unwanted(ring, job);
		if (rest)
			lend_again(rest, flow);
		else
			flow_forgo(flow);
		job = next;
	}
}

void produce_cancel(struct ring *ring)
{
	struct core *core = ring->core;
	cancel_lent(ring);
	struct job *job = pool_cancel(core->pool, ring);
	while (job) {
		struct job *next = job->next;
		struct flow *flow = job->flow;
		job_queue_back(core, job);
		lend_copied(job); /* it is made again for who else wants it */
		struct job *rest = cancel_unwanted(ring, job);
		if (rest) /* others wait for it; it is read again if it was read already */
			job_queue_order(core, rest, flow);
		else
			flow_refund(flow);
		job = next;
	}
	job_queue_submit(core);
}
