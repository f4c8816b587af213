/* SPDX-License-Identifier: MIT */
/*
 * Sampler task: makes a sampler, which may walk all labels of a dataset or read a file, on a thread
 * of its own. Loop thread.
 */
#ifndef STOKER_LOOP_ENGINE_SAMPLER_TASK_H
#define STOKER_LOOP_ENGINE_SAMPLER_TASK_H

#include "work/sampler.h"

struct dataset_entry;
struct sampler_task;

/* Called once, unless the task was given up before; takes the sampler over. */
typedef void sampler_task_done(void *context, int result, struct sampler *sampler,
			       const struct fault *fault);

/* Begin to make it for the open `entry`, which is held meanwhile. Takes the spec over, in any case.
 * 0 or a negative errno. */
int sampler_task_begin(struct sampler_task **out, struct dataset_entry *entry,
		       struct sampler_spec *spec, uint64_t max_bytes, sampler_task_done *done,
		       void *context);
/* Nobody waits any more. */
void sampler_task_give_up(struct sampler_task *making);

#endif
