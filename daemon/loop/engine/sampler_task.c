// SPDX-License-Identifier: MIT
#include "loop/engine/sampler_task.h"

#include <errno.h>
#include <stdlib.h>

#include "loop/state/catalog.h"
#include "loop/state/core.h"

struct sampler_task {
	struct dataset_entry *entry;
	sampler_task_done *done; /* NULL: given up */
	void *context;
	struct task task;
	struct sampler_spec spec; /* from here on the task's, until it is done */
	uint64_t max_bytes;
	struct sampler *sampler;
	int result;
	struct fault fault;
};

static void sampler_task_free(struct sampler_task *making)
{
	sampler_spec_deinit(&making->spec);
	catalog_release(making->entry);
	free(making);
}

/* libuv's thread: a file is read, and a table made as long as the dataset. */
static void sampler_task_run(struct task *task)
{
	struct sampler_task *making = list_entry(task, struct sampler_task, task);
	making->result = sampler_spec_read(&making->spec, making->max_bytes, &making->fault);
	if (making->result == 0)
		making->result =
			sampler_new(&making->sampler, &making->spec, making->entry->dataset,
				    making->max_bytes, &making->fault);
}

static void sampler_task_ran(struct task *task, int status)
{
	struct sampler_task *making = list_entry(task, struct sampler_task, task);
	if (status < 0)
		making->result = fault_say(&making->fault, status,
					   "no thread could make the sampler: errno %d", -status);
	if (making->done)
		making->done(making->context, making->result, making->sampler, &making->fault);
	else
		sampler_free(making->sampler);
	sampler_task_free(making);
}

int sampler_task_begin(struct sampler_task **out, struct dataset_entry *entry,
		       struct sampler_spec *spec, uint64_t max_bytes, sampler_task_done *done,
		       void *context)
{
	struct sampler_task *making = calloc(1, sizeof(*making));
	if (!making) {
		sampler_spec_deinit(spec);
		return -ENOMEM;
	}
	making->entry = catalog_hold(entry);
	making->done = done;
	making->context = context;
	making->spec = *spec;
	*spec = SAMPLER_SPEC_NULL;
	making->max_bytes = max_bytes;
	int r = task_start(&making->task, &entry->core->tasks, sampler_task_run, sampler_task_ran);
	if (r < 0) {
		sampler_task_free(making);
		return r;
	}
	*out = making;
	return 0;
}

void sampler_task_give_up(struct sampler_task *making)
{
	if (making)
		making->done = NULL;
}
