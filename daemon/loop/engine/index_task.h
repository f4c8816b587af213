/* SPDX-License-Identifier: MIT */
/*
 * Index task: looks at each file of a dataset once, with no slot: for an INDEX, which leaves each
 * JPEG's seek index, or the pictures as decoded, or for a FIT (engine/fit.h), whose jobs add up the
 * pictures' bytes. The pool
 * does it with what trainers leave over: one file of all tasks at a time while a reader wants
 * samples, else as many as there are threads for. Embedded in the request that it is for. Loop
 * thread; knows no session.
 */
#ifndef STOKER_LOOP_ENGINE_INDEX_TASK_H
#define STOKER_LOOP_ENGINE_INDEX_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "work/job.h"

struct core;

struct index_task {
	struct list link; /* in core->index_tasks, or empty */
	struct core *core;
	struct job_recipe recipe;
	/* All files were looked at, or, once the task was stopped, all jobs are back. */
	void (*on_done)(struct index_task *task);
	struct job *spare;		   /* for reuse, with their buffers */
	unsigned jobs;			   /* in the pool */
	uint64_t next;			   /* sample */
	bool short_of_memory;		   /* a job of a FIT was */
	uint64_t done;			   /* samples */
	uint64_t found[JOB_INDEX_RESULTS]; /* of these, by what was found */
	uint64_t unread;		   /* that cannot be read, or are no image */
	uint64_t stored;		   /* of these, that are on the disk as decoded */
	unsigned missed;		   /* one after the other that could not be kept */
	uint64_t bytes_read, index_bytes;
};
#define INDEX_TASK_NULL(task_) ((struct index_task){.link = {&(task_)->link, &(task_)->link}})

/* Begin. The recipe has no slots. */
void index_task_start(struct index_task *task, struct core *core, const struct job_recipe *recipe,
		      void (*on_done)(struct index_task *task));
/* Nothing more is ordered. True if no job is in the pool: else on_done follows. */
bool index_task_stop(struct index_task *task);
/* No job may be in the pool. Also of one that was never started. */
void index_task_deinit(struct index_task *task);

/* Order one file, if that is due now; `idle`: no reader wants samples. False if not. */
bool index_task_order(struct core *core, bool idle);
bool index_task_owns(const struct job *job);
void index_task_take(struct core *core, struct job *job); /* it is back */

#endif
