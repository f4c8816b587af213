// SPDX-License-Identifier: MIT
#include "loop/state/staging.h"

#include <errno.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "config/machine.h"
#include "config/roots.h"
#include "storage/slow.h"

#define FOLDER "objects"

#define MEMORY_PART 64 /* of the machine's, for what is known of the objects */

static struct stage_limits limits_of(const struct config *config)
{
	return (struct stage_limits){config->cache_size, config->cache_free,
				     machine_memory() / MEMORY_PART / STAGE_ENTRY_BYTES};
}

void staging_init(struct staging *staging, const struct cache_dir *dir, const struct config *config,
		  struct task_queue *tasks)
{
	const struct stage_limits limits = limits_of(config);
	int folder;
	*staging = (struct staging){.tasks = tasks};
	if (dir->fd < 0)
		return;
	struct fault *fault = &staging->why;
	int result = cache_dir_folder(dir, FOLDER, &folder, fault);
	if (!result)
		result = stage_new(&staging->stage, folder, &limits, fault);
	for (size_t i = 0; !result && roots_text(config->stage_roots, i); i++)
		if (slow_add_root(roots_text(config->stage_roots, i)))
			result = fault_say(fault, -ENOMEM, "out of memory");
	if (result)
		log_warning("objects are not kept on disk (cache-dir): %s", fault->text);
}

void staging_deinit(struct staging *staging)
{
	stage_free(staging->stage);
	staging->stage = NULL;
	slow_forget_roots();
}

static void staging_run(struct task *task)
{
	struct staging *staging = list_entry(task, struct staging, task);
	stage_trim(staging->stage);
}

static void staging_trimmed(struct task *task, int status)
{
	struct staging *staging = list_entry(task, struct staging, task);
	(void)status;
	staging->trimming = false;
}

/* The loop's log is the only one. */
static void staging_say_failure(struct staging *staging)
{
	struct stage_totals totals = stage_totals(staging->stage);
	if (staging->said || !totals.failed)
		return;
	staging->said = true;
	log_warning("cache-dir: an object could not be kept on disk: %s (with cache-free = %llu "
		    "MiB); what cannot be kept is fetched again",
		    strerror(totals.error), (unsigned long long)(totals.spare >> 20));
}

void staging_tick(struct staging *staging)
{
	if (!staging->stage)
		return;
	staging_say_failure(staging);
	if (!staging->trimming && stage_has_work(staging->stage))
		staging->trimming = task_start(&staging->task, staging->tasks, TASK_OWN, 0,
					       staging_run, staging_trimmed) == 0;
}

void staging_set_limits(struct staging *staging, const struct config *config)
{
	const struct stage_limits limits = limits_of(config);
	if (staging->stage)
		stage_set_limits(staging->stage, &limits);
}

void staging_drop(struct staging *staging)
{
	if (staging->stage)
		stage_drop(staging->stage);
	staging_tick(staging);
}

void staging_drop_set(struct staging *staging, struct stage_set *set)
{
	stage_set_drop(set);
	staging_tick(staging);
}

int staging_pin_set(struct staging *staging, struct stage_set *set, bool pinned,
		    struct fault *fault)
{
	int result = stage_set_pin(set, pinned, fault);
	staging_tick(staging);
	return result;
}

void staging_unpin(struct staging *staging)
{
	if (staging->stage)
		stage_unpin(staging->stage);
	staging_tick(staging);
}

struct stage_set *staging_open(struct staging *staging, uid_t uid)
{
	struct stage_set *set = NULL;
	return staging->stage && stage_set_new(&set, staging->stage, uid) == 0 ? set : NULL;
}
