/* SPDX-License-Identifier: MIT */
/*
 * The images of a chain of jobs, which want the same sample: its file is read once, unless a
 * picture of it is kept, and decoded once, as far as all of them need it. Decides which pictures
 * are kept. Knows nothing of what happens to a bad sample. Reading is for fetch threads and, where
 * it is rare, for workers; rendering is for workers.
 */
#ifndef STOKER_WORK_CHAIN_H
#define STOKER_WORK_CHAIN_H

#include "work/job.h"
#include "work/sample.h"

/* Read the file of `sample` into the first job, or pin the picture that is kept of it. */
enum job_outcome chain_read(struct job *job, uint64_t sample);
/* Read the file of its mask, if a job has that field. */
void chain_read_mask(struct job *job, uint64_t sample);
/* The same as chain_read() of the mix partner, if a job is mixed. All have the same partner. */
void chain_read_partner(struct job *job);

/* Write the images of all jobs, and their masks, from what the first has of `sample`; unpins its
 * picture. */
void chain_render(struct job *job, uint64_t sample, struct sample_kit *kit);
/* Set the first job's outcome for all. */
void chain_spread_outcome(struct job *job);

#endif
