// SPDX-License-Identifier: MIT
#include "loop/engine/fit.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"
#include "loop/os/task.h"
#include "loop/state/core.h"
#include "loop/state/statistics_store.h"
#include "statistics/moments.h"
#include "statistics/statistics.h"
#include "store/index_store.h"
#include "transform/pipeline.h"
#include "work/job.h"

struct fit {
	struct core *core;
	struct statistics_plan plan;
	struct pipeline *pipeline;
	struct moments *moments;
	uint64_t charged;
	struct statistics *statistics; /* held, once they are there */
	struct task task;
	atomic_bool in_lapack; /* which lets nobody stop it */
	fit_done *done;
	void *context;
	struct { /* the task's, until it is done */
		struct statistics *statistics;
		int result;
		struct fault fault, unkept;
		bool kept;
	} step;
};

int fit_new(struct fit **out, struct core *core, const struct statistics_plan *plan,
	    struct pipeline *pipeline)
{
	struct fit *fit = calloc(1, sizeof(*fit));
	if (!fit) {
		pipeline_free(pipeline);
		return -ENOMEM;
	}
	fit->core = core;
	fit->plan = *plan;
	fit->plan.pictures = pipeline_hash(pipeline);
	fit->pipeline = pipeline;
	*out = fit;
	return 0;
}

void fit_free(struct fit *fit)
{
	if (!fit)
		return;
	if (fit->core->whitening == fit)
		fit->core->whitening = NULL;
	atomic_fetch_sub(&fit->core->dataset_account.bytes, fit->charged);
	statistics_put(fit->statistics);
	moments_free(fit->moments);
	pipeline_free(fit->pipeline);
	free(fit);
}

static int fit_charge(struct fit *fit, unsigned *code_out, struct fault *fault)
{
	struct core *core = fit->core;
	struct dataset_account *account = &core->dataset_account;
	uint64_t bytes = statistics_bytes(&fit->plan) + /* each worker has a picture in hand */
			 pipeline_output(fit->pipeline).bytes * core->config->workers;
	*code_out = ERROR_LIMIT;
	if (fit->plan.whitens && core->whitening)
		return fault_say(fault, FIT_E_REFUSED,
				 "another fit with zca is under way: try again when it is done");
	uint64_t used = atomic_fetch_add(&account->bytes, bytes);
	uint64_t rest = account->limit > used ? account->limit - used : 0;
	if (bytes > rest) {
		atomic_fetch_sub(&account->bytes, bytes);
		return fault_say(fault, FIT_E_REFUSED,
				 "a fit of such pictures needs %llu bytes; of the %llu bytes of "
				 "dataset-memory %llu are free: use a smaller Resize, or raise "
				 "dataset-memory",
				 (unsigned long long)bytes, (unsigned long long)account->limit,
				 (unsigned long long)rest);
	}
	fit->charged = bytes;
	if (fit->plan.whitens)
		core->whitening = fit;
	return 0;
}

int fit_open(struct fit *fit, const struct dataset *dataset, struct job_recipe *recipe,
	     unsigned *code_out, struct fault *fault)
{
	struct image image = {0};
	uint32_t size[2];
	*code_out = ERROR_PIPELINE;
	if (dataset_has_pixels(dataset))
		image = dataset_pixels(dataset, 0);
	int r = pipeline_settle(fit->pipeline, image.width, image.height, fault);
	if (r)
		return r < 0 ? r : FIT_E_REFUSED;
	pipeline_size(fit->pipeline, size);
	fit->plan.fingerprint = dataset_fingerprint(dataset);
	fit->plan.height = size[0];
	fit->plan.width = size[1];
	if (statistics_check(&fit->plan, fault))
		return FIT_E_REFUSED;
	r = fit_charge(fit, code_out, fault);
	if (r == 0)
		r = moments_new(&fit->moments, 3 * size[0] * size[1],
				statistics_moments(&fit->plan));
	if (r)
		return r;
	recipe->pipeline = fit->pipeline;
	recipe->moments = fit->moments;
	recipe->fields.views = 1;
	return 0;
}

/* libuv's thread. */
static void fit_run(struct task *task)
{
	struct fit *fit = list_entry(task, struct fit, task);
	struct index_store *disk = fit->core->statistics->disk;
	struct fault *fault = &fit->step.fault;
	atomic_store(&fit->in_lapack, fit->plan.whitens);
	int r = statistics_new(&fit->step.statistics, &fit->plan, fit->moments, fault);
	atomic_store(&fit->in_lapack, false);
	if (r < 0)
		fault_say(fault, r, "out of memory");
	fit->step.result = r;
	if (r == 0 && disk)
		fit->step.kept = index_store_save_statistics(disk, fit->step.statistics,
							     &fit->step.unkept) == 0;
}

static void fit_ran(struct task *task, int status)
{
	struct fit *fit = list_entry(task, struct fit, task);
	struct statistics_store *store = fit->core->statistics;
	if (status < 0)
		fit->step.result = fault_say(&fit->step.fault, status,
					     "no thread could run it: errno %d", -status);
	if (fit->step.result == 0) {
		if (store->disk && !fit->step.kept)
			log_warning("statistics are not kept on the disk (index-dir): %s",
				    fit->step.unkept.text);
		fit->statistics = fit->step.statistics;
		fit->statistics->users++;
		statistics_store_put(store, fit->statistics);
	}
	fit->done(fit->context, fit->step.result, &fit->step.fault);
}

bool fit_solve(struct fit *fit, fit_done *done, void *context)
{
	fit->done = done;
	fit->context = context;
	return task_start(&fit->task, &fit->core->tasks, fit_run, fit_ran) == 0;
}

const struct statistics *fit_statistics(const struct fit *fit)
{
	return fit->statistics;
}

bool fit_is_kept(const struct fit *fit)
{
	return fit->step.kept;
}

bool fit_is_uninterruptible(const struct core *core)
{
	return core->whitening && atomic_load(&core->whitening->in_lapack);
}
