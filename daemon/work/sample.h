/* SPDX-License-Identifier: MIT */
/*
 * Makes one sample from start to end: file -> decoder -> transforms -> slot; and what happens if it
 * cannot be read or decoded. Keeps no state, has no thread and no queue.
 */
#ifndef STOKER_WORK_SAMPLE_H
#define STOKER_WORK_SAMPLE_H

#include "work/job.h"

/* A worker's tools, reused for each sample. */
struct sample_kit {
	struct decoder *decoder;
	struct pipeline_scratch
		*scratch[JOB_SHARERS_MAX]; /* of each job of a chain; made if needed */
	struct buffer partner;		   /* array and label of a mix partner */
	struct buffer rewritten;	   /* a file written anew */
	struct buffer whole;		   /* pixels for the disk, or from there */
	struct pipeline_scratch *mask;	   /* of a mask; made if needed */
	bool idle; /* no other sample waits, or of late none did: there is time to decode a whole
		    * picture */
};
#define SAMPLE_KIT_NULL ((struct sample_kit){0})
int sample_kit_init(struct sample_kit *kit); /* 0 or -ENOMEM */
void sample_kit_deinit(struct sample_kit *kit);

/* Must bytes be read for it? If not, it goes to a worker at once. */
bool sample_needs_fetch(const struct job *job);
/* Fetch thread: read job->bytes, for the whole chain. A failure is kept for sample_make(). */
void sample_fetch(struct job *job);
/* Worker: decode, transform and write the slots of the whole chain, and set the outcomes. Also
 * reads substitutes: they are rare, so a worker may wait for storage. */
void sample_make(struct job *job, struct sample_kit *kit);

/* A job that is not made after all: give back what sample_fetch() pinned. Twice will do. */
void sample_forget(struct job *job);

/* The outcome that follows from a condition of the dataset, the decoder or the pipeline. */
enum job_outcome sample_outcome_of_read(int condition);
enum job_outcome sample_outcome_of_decode(int condition);
enum job_outcome sample_outcome_of_pipeline(int condition);

#endif
