// SPDX-License-Identifier: MIT
#include "loop/engine/job_queue.h"

#include <stdlib.h>

#include "base/clock.h"
#include "loop/state/bucket_forms.h"
#include "loop/state/core.h"
#include "loop/state/ring.h"
#include "loop/state/stream.h"
#include "loop/state/user.h"
#include "work/pool.h"
#include "work/sample.h"

/* A buffer above this goes back to the system after its job: one huge file is no habit. */
#define KEEP_BYTES ((size_t)1 << 20)
#define KEEP_LEAST ((size_t)128 << 10) /* of files that are mostly smaller than they were */
#define UNKNOWN_COST_NS 4000000	       /* of a flow's first samples */

void job_queue_init(struct job_queue *queue)
{
	*queue = (struct job_queue){.ordered_end = &queue->ordered};
}

void job_queue_deinit(struct job_queue *queue)
{
	while (queue->spare) {
		struct job *job = queue->spare;
		queue->spare = job->next;
		source_deinit(&job->own.source);
		supply_deinit(&job->supply);
		for (uint32_t i = 0; i < JOB_PARTNERS_MAX; i++) {
			source_deinit(&job->partner[i].own.source);
			source_deinit(&job->partner[i].mask.source);
		}
		source_deinit(&job->mask.source);
		free(job);
	}
}

static struct job *job_memory(struct job_queue *queue)
{
	struct job *job = queue->spare;
	if (!job)
		return calloc(1, sizeof(*job));
	queue->spare = job->next;
	return job;
}

void job_queue_free(struct core *core, struct job *job)
{
	sample_forget(job);
	buffer_wane(&job->own.source.bytes, KEEP_LEAST);
	buffer_trim(&job->own.source.bytes, KEEP_BYTES);
	supply_trim(&job->supply, KEEP_BYTES);
	buffer_trim(&job->mask.source.bytes, KEEP_BYTES);
	for (uint32_t i = 0; i < job->partners; i++) {
		buffer_trim(&job->partner[i].own.source.bytes, KEEP_BYTES);
		buffer_trim(&job->partner[i].mask.source.bytes, KEEP_BYTES);
	}
	job->next = core->jobs->spare;
	core->jobs->spare = job;
}

struct slot *job_slot(const struct job *job)
{
	struct ring *ring = job->owner;
	return &ring->slot[job->slot];
}

struct job *job_queue_new(struct ring *ring, uint64_t epoch, uint64_t position)
{
	struct job *job = job_memory(ring->core->jobs);
	if (!job)
		return NULL;
	uint64_t ordinal = ring_ordinal(ring, epoch, position);
	uint32_t number = ring_slot_number(ring, ordinal);
	const struct bucket_form *form = stream_form(ring->stream, epoch, position);
	job->recipe = form ? &form->recipe : &ring->stream->recipe;
	job->entry = stream_entry(ring->stream, epoch, position, &job->key);
	job->sample = job_sample(job->recipe, job->entry);
	for (uint32_t i = 0; i < job->recipe->fields.partners; i++)
		job->partner[i].entry =
			stream_partner(ring->stream, epoch, position, i + 1, &job->partner[i].key);
	for (uint32_t i = 0; i < job->recipe->fields.count; i++)
		job->field[i] = ring_entry(ring, i, ordinal, job->recipe->fields.field[i].bytes);
	job->owner = ring;
	job->slot = number;
	job->unwanted = &ring->unwanted;
	job->sharer = NULL;
	job->own.source.bytes_read = job->mask.source.bytes_read = 0;
	job->partners = 0;
	job->fetch_ns = job->fetched_ns = 0; /* it may have nothing to be fetched */
	job->staged = (struct stage_reads){0};
	supply_clear(&job->supply);
	job->decoded = job->clips = job->shared = false;
	job->transform_ns = 0;
	job->needed = job->maker = 0;
	job->work_ns = 0;
	job->group = job->producer = NULL;
	job->failures = 0;
	slot_fill(ring_slot(ring, ordinal));
	ring->jobs++;
	return job;
}

void job_queue_order(struct core *core, struct job *job, struct flow *flow)
{
	struct job_queue *queue = core->jobs;
	job->flow = flow;
	job->cost_ns = flow->cost_ns ? flow->cost_ns : UNKNOWN_COST_NS;
	if (!job->supply.asked) /* else it was ordered before a producer had it */
		job->ordered_ns = clock_ns();
	job->next = NULL;
	*queue->ordered_end = job;
	queue->ordered_end = &job->next;
	queue->queued_ns += job->cost_ns;
	core_count(core, COUNTER_QUEUED, 1);
}

void job_queue_submit(struct core *core)
{
	struct job_queue *queue = core->jobs;
	if (queue->ordered)
		pool_submit(core->pool, queue->ordered);
	queue->ordered = NULL;
	queue->ordered_end = &queue->ordered;
}

void job_queue_back(struct core *core, const struct job *job)
{
	core->jobs->queued_ns -= job->cost_ns;
	core_count(core, COUNTER_QUEUED, -1);
}
