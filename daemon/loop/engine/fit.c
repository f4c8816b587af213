// SPDX-License-Identifier: MIT
#include "loop/engine/fit.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"
#include "loop/os/task.h"
#include "loop/policy/quota.h"
#include "loop/state/catalog_keep.h"
#include "loop/state/core.h"
#include "loop/state/memory.h"
#include "loop/state/statistics_store.h"
#include "statistics/moments.h"
#include "statistics/statistics.h"
#include "store/index_store.h"
#include "transform/pipeline.h"
#include "work/sample.h"

struct fit {
	struct core *core;
	uid_t uid; /* who asked for it */
	struct statistics_plan plan;
	struct pipeline *pipeline;
	struct moments *moments;
	struct list whitening; /* in core->whitening, or empty */
	struct memory *memory; /* held; NULL until it is charged */
	uint64_t charged;
	struct statistics *statistics; /* held, once they are there */
	struct task task;
	atomic_bool in_lapack; /* which cannot be interrupted */
	fit_done *done;
	void *context;
	struct { /* the task's, until it is done */
		struct statistics *statistics;
		int result;
		struct fault fault, unkept;
		bool kept;
	} step;
};

int fit_new(struct fit **out, struct core *core, uid_t uid, const struct statistics_plan *plan,
	    struct pipeline *pipeline)
{
	struct fit *fit = calloc(1, sizeof(*fit));
	if (!fit) {
		pipeline_free(pipeline);
		return -ENOMEM;
	}
	list_init(&fit->whitening);
	fit->core = core;
	fit->uid = uid;
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
	list_remove(&fit->whitening);
	if (fit->memory)
		dataset_account_give(&fit->memory->account, fit->charged, true);
	memory_put(fit->memory);
	statistics_put(fit->statistics);
	moments_free(fit->moments);
	pipeline_free(fit->pipeline);
	free(fit);
}

/* One of a user's at a time: LAPACK takes a core for a minute. */
static bool user_whitens(const struct core *core, uid_t uid)
{
	list_for_each(fit, next, &core->whitening, struct fit, whitening)
		if (fit->uid == uid)
			return true;
	return false;
}

static int fit_charge(struct fit *fit, unsigned *code_out, struct fault *fault)
{
	struct core *core = fit->core;
	const struct dataset_account *full;
	uint64_t bytes = statistics_bytes(&fit->plan) + /* each worker has a picture in hand */
			 pipeline_output(fit->pipeline).bytes * core_workers(core);
	*code_out = ERROR_LIMIT;
	if (fit->plan.whitens && user_whitens(core, fit->uid))
		return fault_say(
			fault, FIT_E_REFUSED,
			"another fit with zca of this user is under way: try again when it is "
			"done");
	fit->memory = memory_get(core, fit->uid, quota_memory(core, fit->uid));
	if (!fit->memory)
		return -ENOMEM;
	while (!dataset_account_take(&fit->memory->account, bytes, true, &full)) {
		if (catalog_drop_idle(core, fit->uid))
			continue;
		return fault_say(fault, FIT_E_REFUSED,
				 "a fit of such pictures needs %llu bytes; of the %llu bytes of "
				 "%sdataset-memory %llu are free: use a smaller Resize, or raise "
				 "dataset-memory",
				 (unsigned long long)bytes,
				 (unsigned long long)atomic_load(&full->limit),
				 full->parent ? "this user's share of " : "",
				 (unsigned long long)dataset_account_free(full));
	}
	fit->charged = bytes;
	if (fit->plan.whitens)
		list_append(&core->whitening, &fit->whitening);
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
	if (image.form.type)
		return fault_say(fault, FIT_E_REFUSED,
				 "a fit is of pictures of bytes, and the samples are %s "
				 "numbers: give the array as uint8",
				 image.form.type == IMAGE_UINT16 ? "uint16" : "float32");
	if (pipeline_form(fit->pipeline).type)
		return fault_say(
			fault, FIT_E_REFUSED,
			"a fit is of pictures of bytes: leave out ReadAs and dtype uint16");
	int r = pipeline_settle(fit->pipeline, image.width, image.height, fault);
	if (r == 0)
		r = pipeline_check_work(fit->pipeline, image.width, image.height, 1, fault);
	if (r)
		return r < 0 ? r : FIT_E_REFUSED;
	if (pipeline_is_gray(fit->pipeline))
		return fault_say(fault, FIT_E_REFUSED,
				 "statistics are of three channels: give Grayscale "
				 "num_output_channels 3");
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
	recipe->purpose = &purpose_measure;
	recipe->fields.views = 1;
	return 0;
}

/* a task's thread. */
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
	return task_start(&fit->task, &fit->core->tasks, TASK_OPENING, fit->uid, fit_run,
			  fit_ran) == 0;
}

const struct statistics *fit_statistics(const struct fit *fit)
{
	return fit->statistics;
}

bool fit_is_kept(const struct fit *fit)
{
	return fit->step.kept;
}

unsigned fits_uninterruptible(const struct core *core)
{
	unsigned count = 0;
	list_for_each(fit, next, &core->whitening, struct fit, whitening)
		count += atomic_load(&fit->in_lapack);
	return count;
}
