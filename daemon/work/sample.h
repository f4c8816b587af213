/* SPDX-License-Identifier: MIT */
/*
 * One sample, start to end: bytes -> decoder -> transforms -> slot, and the policy for what cannot
 * be decoded. Pure but for the slot it writes: no state, no thread of its own, no queue.
 */
#ifndef STOKER_WORK_SAMPLE_H
#define STOKER_WORK_SAMPLE_H

#include "work/job.h"

/* The tools of one worker. */
struct sample_kit {
	struct decoder *decoder;
	struct pipeline_scratch *scratch[JOB_SHARERS_MAX]; /* a draw each; made when first needed */
	struct buffer partner;	       /* array and label of what a sample is mixed with */
	struct pipeline_scratch *mask; /* for one at a time; likewise */
};
#define SAMPLE_KIT_NULL ((struct sample_kit){0})
int sample_kit_init(struct sample_kit *kit); /* 0 or -ENOMEM */
void sample_kit_deinit(struct sample_kit *kit);

/* Has it bytes to be read? If not, it goes to a worker at once. */
bool sample_needs_fetch(const struct job *job);
/* Fetch thread: read job->bytes, for all kin. A failure is kept in the job for sample_make(). */
void sample_fetch(struct job *job);
/* Worker: decode, transform, write the slot, of the job and of its kin; fills in the outcomes. A
 * substitute is read here: rare, so a worker may wait for storage. */
void sample_make(struct job *job, struct sample_kit *kit);

/* What a decoder's or a pipeline's condition is to a job. */
enum job_outcome sample_outcome_of_decode(int condition);
enum job_outcome sample_outcome_of_pipeline(int condition);

#endif
