/* SPDX-License-Identifier: MIT */
/*
 * Outcome of a job or of one of its inputs, and which one follows from a condition of the dataset,
 * the decoder or the pipeline. Pure; any thread.
 */
#ifndef STOKER_WORK_OUTCOME_H
#define STOKER_WORK_OUTCOME_H

enum job_outcome {
	JOB_DONE,
	JOB_READ,      /* the bytes cannot be read */
	JOB_CHANGED,   /* the file changed since it was first read */
	JOB_FORMAT,    /* not a supported image format */
	JOB_CORRUPT,   /* damaged or cut short */
	JOB_LIMIT,     /* larger than a limit allows */
	JOB_TRANSFORM, /* a transform cannot be applied to it */
	JOB_MEMORY,    /* out of memory */
	JOB_USER,      /* the user's code failed at it */
	JOB_LARGER,    /* it does not fit into the slot of a ragged field */
	JOB_AWAITS,    /* not made: a producer has to make its record first */
	JOB_UNWANTED,  /* nobody waits for it any more: it was not made */
};

enum job_outcome outcome_of_read(int condition);
enum job_outcome outcome_of_decode(int condition);
enum job_outcome outcome_of_pipeline(int condition);

#endif
