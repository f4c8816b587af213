/* SPDX-License-Identifier: MIT */
/*
 * The jobs of samples on the loop's side: made for an empty slot, collected so that the pool gets
 * them in one go, reused with their buffers. Loop thread; knows no reader.
 */
#ifndef STOKER_LOOP_ENGINE_JOB_QUEUE_H
#define STOKER_LOOP_ENGINE_JOB_QUEUE_H

#include <stdint.h>

struct core;
struct flow;
struct job;
struct ring;
struct slot;

struct job_queue {
	struct job *spare;		    /* for reuse, with their buffers */
	struct job *ordered, **ordered_end; /* not handed to the pool yet */
	uint64_t queued_ns;		    /* what all jobs in the pool are likely to take */
};

void job_queue_init(struct job_queue *queue);
void job_queue_deinit(struct job_queue *queue); /* no job is in the pool */

/* A job for the empty slot of this position, which the ring holds; the slot is FILLING from here
 * on. NULL: no memory. */
struct job *job_queue_new(struct ring *ring, uint64_t epoch, uint64_t position);
void job_queue_free(struct core *core, struct job *job); /* for reuse */
struct slot *job_slot(const struct job *job);

/* Order a job with its sharers for this flow; the pool gets it with job_queue_submit(). */
void job_queue_order(struct core *core, struct job *job, struct flow *flow);
void job_queue_submit(struct core *core);
/* Take note of a job that came back from the pool. */
void job_queue_back(struct core *core, const struct job *job);

#endif
