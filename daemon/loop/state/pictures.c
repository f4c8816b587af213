// SPDX-License-Identifier: MIT
#include "loop/state/pictures.h"

#include "base/list.h"
#include "config/machine.h"

#define SPARE_PART 16 /* of the memory, that is left to others */

void pictures_init(struct pictures *pictures, uint64_t limit, struct task_queue *tasks)
{
	*pictures = (struct pictures){.tasks = tasks};
	atomic_init(&pictures->limit, limit);
	picture_cache_init(&pictures->cache, limit);
}

void pictures_deinit(struct pictures *pictures)
{
	picture_cache_deinit(&pictures->cache);
}

uint64_t pictures_budget(uint64_t limit, uint64_t bytes, uint64_t memory, uint64_t available)
{
	uint64_t spare = memory / SPARE_PART;
	uint64_t more = available > spare ? available - spare : 0;
	uint64_t less = available < spare ? spare - available : 0;
	if (bytes > limit)
		bytes = limit;
	if (more > 0)
		return more < limit - bytes ? bytes + more : limit;
	return less < bytes ? bytes - less : 0;
}

static void pictures_run(struct task *task)
{
	struct pictures *pictures = list_entry(task, struct pictures, task);
	struct picture_cache *cache = &pictures->cache;
	picture_cache_set_limit(cache, pictures_budget(atomic_load(&pictures->limit),
						       atomic_load(&cache->bytes), machine_memory(),
						       machine_available()));
	picture_cache_trim(cache);
}

static void pictures_trim(struct pictures *pictures);

static void pictures_trimmed(struct task *task, int status)
{
	struct pictures *pictures = list_entry(task, struct pictures, task);
	pictures->trimming = false;
	if (status == 0 && pictures->again)
		pictures_trim(pictures);
}

/* If no task can be had it is done next time: nothing is lost but memory for a while. */
static void pictures_trim(struct pictures *pictures)
{
	pictures->again = pictures->trimming;
	if (!pictures->trimming)
		pictures->trimming = task_start(&pictures->task, pictures->tasks, TASK_OWN, 0,
						pictures_run, pictures_trimmed) == 0;
}

void pictures_set_limit(struct pictures *pictures, uint64_t limit)
{
	if (atomic_exchange(&pictures->limit, limit) == limit)
		return;
	picture_cache_set_limit(&pictures->cache, limit);
	pictures_trim(pictures);
}

void pictures_tick(struct pictures *pictures)
{
	if (atomic_load(&pictures->limit) > 0 && atomic_load(&pictures->cache.samples) > 0 &&
	    !pictures->trimming)
		pictures_trim(pictures);
}

struct picture_set *pictures_open(struct pictures *pictures, uid_t uid, uint64_t samples)
{
	struct picture_set *set = NULL;
	if (picture_set_new(&set, &pictures->cache, uid, samples) == 0)
		pictures_tick(pictures);
	return set;
}

void pictures_drop(struct pictures *pictures, struct picture_set *set)
{
	picture_set_drop(set);
	pictures_trim(pictures);
}

void pictures_close(struct pictures *pictures, struct picture_set *set)
{
	if (!set)
		return;
	picture_set_close(set);
	pictures_trim(pictures);
}
