// SPDX-License-Identifier: MIT
#include "loop/engine/index_task.h"

#include <assert.h>
#include <stdlib.h>

#include "loop/engine/warm.h"
#include "loop/state/core.h"
#include "work/pool.h"
#include "work/sample.h"

void index_task_start(struct index_task *task, struct core *core, const struct job_recipe *recipe,
		      void (*on_done)(struct index_task *task))
{
	task->core = core;
	task->recipe = *recipe;
	task->on_done = on_done;
	list_append(&core->index_tasks, &task->link);
}

void index_task_deinit(struct index_task *task)
{
	assert(task->jobs == 0);
	list_remove(&task->link);
	while (task->spare) {
		struct job *job = task->spare;
		task->spare = job->next;
		source_deinit(&job->own.source);
		free(job);
	}
}

static struct job *job_memory(struct index_task *task)
{
	struct job *job = task->spare;
	if (!job)
		return calloc(1, sizeof(*job));
	task->spare = job->next;
	return job;
}

static void job_back(struct index_task *task, struct job *job)
{
	job->next = task->spare;
	task->spare = job;
	task->jobs--;
	core_count(task->core, COUNTER_QUEUED, -1);
}

bool index_task_stop(struct index_task *task)
{
	if (!task->core) /* never started */
		return true;
	struct job *job = pool_cancel(task->core->pool, task);
	while (job) {
		struct job *next = job->next;
		job_back(task, job);
		job = next;
	}
	task->next = task->recipe.count;
	return task->jobs == 0;
}

/* -- the files ---------------------------------------------------------------------------- */

static bool order_one(struct index_task *task)
{
	if (task->recipe.purpose == &purpose_warm && !warm_may_begin(&task->recipe))
		return false;
	struct job *job = task->next < task->recipe.count ? job_memory(task) : NULL;
	if (!job)
		return false;
	job->next = NULL;
	job->recipe = &task->recipe;
	job->sample = task->next++;
	job->owner = task;
	task->jobs++;
	core_count(task->core, COUNTER_QUEUED, 1);
	pool_submit(task->core->pool, job);
	return true;
}

/* Is a file of any task with a thread that may be done with it soon? */
static bool one_is_ordered(const struct core *core)
{
	uint64_t jobs = 0;
	list_for_each(task, next, &core->index_tasks, struct index_task, link)
		jobs += task->jobs;
	return jobs > core->counters[COUNTER_STUCK_READS];
}

bool index_task_order(struct core *core, bool idle)
{
	if (!idle && one_is_ordered(core))
		return false;
	list_for_each(task, next, &core->index_tasks, struct index_task, link) {
		if (!order_one(task))
			continue;
		/* To the end of the list: they take turns. */
		list_remove(&task->link);
		list_append(&core->index_tasks, &task->link);
		return true;
	}
	return false;
}

bool index_task_owns(const struct job *job)
{
	return !job->recipe->purpose->has_slot;
}

void index_task_take(struct core *core, struct job *job)
{
	struct index_task *task = job->owner;
	size_t bytes = job->own.source.bytes_read;
	if (job->outcome == JOB_DONE)
		task->found[job->index_result]++;
	else
		task->unread++;
	task->short_of_memory |= task->recipe.moments && job->outcome == JOB_MEMORY;
	task->bytes_read += bytes;
	task->index_bytes += job->index_bytes;
	if (task->recipe.purpose == &purpose_warm && warm_is_over(&task->missed, job))
		task->next = task->recipe.count;
	task->stored += job->outcome == JOB_DONE && job->stored;
	task->done++;
	core_count(core, COUNTER_SAMPLES_READ, bytes > 0);
	core_count(core, COUNTER_BYTES_READ, (int64_t)bytes);
	core_count(core, COUNTER_FETCH_NS, (int64_t)job->fetch_ns);
	core_count(core, COUNTER_WORK_NS, (int64_t)job->work_ns);
	job_back(task, job);
	if (task->jobs == 0 && task->next == task->recipe.count)
		task->on_done(task);
}
