// SPDX-License-Identifier: MIT
#include "loop/state/index_cache.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log_user.h"
#include "base/owner.h"
#include "config.h"
#include "dataset/dataset.h"
#include "loop/state/folders.h"
#include "loop/state/memory.h"

#define INDEX_CACHE_PERIOD_NS ((uint64_t)300 * 1000000000u)
#define INDEX_CACHE_GROWN 8 /* worth writing again: one in so many is new */

void index_caches_init(struct index_caches *caches, const struct config *config,
		       struct seek_index_budget *account, struct task_queue *tasks,
		       struct folder_report *report)
{
	struct fault fault = {""};
	*caches = (struct index_caches){.until = INDEX_STORE_UNTIL_NEVER,
					.report = report,
					.account = account,
					.tasks = tasks};
	list_init(&caches->list);
	caches->folder = config->index_dir;
	report->off = !config->index_dir || account->limit == 0;
	if (report->off)
		return;
	int r = index_store_open(&caches->store, config->index_dir, account->limit, &fault);
	if (r == -ENOMEM)
		fault_say(&fault, 0, "out of memory");
	folder_note(report, r, r == INDEX_STORE_E_FULL, &fault);
	if (r)
		log_warning("seek indexes are not kept on the disk (index-dir): %s", fault.text);
}

void index_caches_trim(const struct index_caches *caches)
{
	if (caches->store)
		index_store_trim(caches->store);
}

const char *index_caches_folder(const struct index_caches *caches)
{
	return caches->store ? caches->folder : NULL;
}

void index_caches_deinit(struct index_caches *caches)
{
	assert(list_empty(&caches->list));
	index_store_close(caches->store);
}

/* -- begin and end ------------------------------------------------------------------------ */

static void index_cache_free(struct index_cache *cache)
{
	assert(list_empty(&cache->waiters) && !cache->saving);
	list_remove(&cache->link);
	seek_index_set_free(cache->seek_indexes);
	memory_put(cache->memory);
	free(cache);
}

struct index_cache *index_cache_load(struct index_caches *caches, const struct dataset *dataset,
				     struct memory *memory)
{
	struct index_cache *cache = caches->account->limit > 0 ? calloc(1, sizeof(*cache)) : NULL;
	if (!cache)
		return NULL;
	cache->caches = caches;
	cache->key = (struct index_store_key){.fingerprint = dataset_identity(dataset),
					      .samples = dataset_count(dataset),
					      .owner = owner_of(memory->uid)};
	list_init(&cache->link);
	list_init(&cache->waiters);
	if (caches->secret)
		cache->key.secret = *caches->secret;
	if ((!caches->secret && digest_secret_make(&cache->key.secret) < 0) ||
	    seek_index_set_new(&cache->seek_indexes, caches->account, &memory->indexes,
			       cache->key.samples) < 0) {
		free(cache);
		return NULL;
	}
	cache->step.result = INDEX_STORE_E_NONE;
	if (caches->store)
		cache->step.result =
			index_store_load(caches->store, &cache->key, cache->seek_indexes,
					 &caches->until, &cache->kept, &cache->step.fault);
	return cache;
}

static struct index_cache *index_cache_left(const struct index_cache *fresh)
{
	list_for_each(cache, next, &fresh->caches->list, struct index_cache, link)
		if (!cache->users && cache->key.samples == fresh->key.samples &&
		    cache->key.owner == fresh->key.owner &&
		    digest_equal(&cache->key.fingerprint, &fresh->key.fingerprint))
			return cache;
	return NULL;
}

struct index_cache *index_cache_open(struct index_cache *fresh, struct dataset *dataset,
				     struct memory *memory)
{
	if (!fresh)
		return NULL;
	struct index_cache *cache = index_cache_left(fresh);
	if (cache) {
		index_cache_free(fresh);
	} else {
		cache = fresh;
		if (cache->step.result == 0)
			log_user(memory->uid, LOG_DATASETS, LOG_LEVEL_INFO,
				 "read %llu JPEG seek indexes (%llu bytes) of this dataset from "
				 "the disk",
				 (unsigned long long)cache->kept.indexes,
				 (unsigned long long)cache->kept.bytes);
		else if (cache->step.result != INDEX_STORE_E_NONE)
			log_user(memory->uid, LOG_DATASETS, LOG_LEVEL_WARNING,
				 "read %llu JPEG seek indexes of this dataset from the disk; the "
				 "others will be built again: %s",
				 (unsigned long long)cache->kept.indexes, cache->step.fault.text);
		cache->kept_ns = clock_ns();
		cache->memory = memory_hold(memory);
		list_append(&cache->caches->list, &cache->link);
	}
	cache->users++;
	dataset_set_secret(dataset, &cache->key.secret);
	return cache;
}

struct index_cache *index_cache_share(struct index_cache *cache, struct index_cache *fresh,
				      struct dataset *dataset)
{
	index_cache_free(fresh);
	cache->users++;
	dataset_set_secret(dataset, &cache->key.secret);
	return cache;
}

/* -- to the disk -------------------------------------------------------------------------- */

static void index_cache_work(struct task *task)
{
	struct index_cache *cache = list_entry(task, struct index_cache, task);
	struct index_cache_step *step = &cache->step;
	struct index_caches *caches = cache->caches;
	step->changes = seek_index_set_changes(
		cache->seek_indexes); /* before: what comes meanwhile may be left out */
	step->sum = (struct index_store_sum){0};
	step->result = index_store_save(caches->store, &cache->key, cache->seek_indexes,
					&caches->until, &step->sum, &step->fault);
}

static void index_cache_saved(struct task *task, int status);

static void index_cache_save(struct index_cache *cache)
{
	cache->again = false;
	cache->saving = task_start(&cache->task, cache->caches->tasks, TASK_OWN, 0,
				   index_cache_work, index_cache_saved) == 0;
}

static bool index_cache_changed(const struct index_cache *cache)
{
	return cache->caches->store &&
	       seek_index_set_changes(cache->seek_indexes) != cache->kept_changes;
}

/* One line until it works again: it will be tried often. */
static void index_cache_note(struct index_cache *cache)
{
	struct index_caches *caches = cache->caches;
	const struct index_cache_step *step = &cache->step;
	cache->kept_ns = clock_ns();
	if (step->result == 0) {
		cache->kept = step->sum;
		cache->kept_changes = step->changes;
	} else if (!caches->report->refused && !caches->report->full) {
		log_warning("seek indexes are not kept on the disk (index-dir): %s",
			    step->fault.text);
	}
	folder_note(caches->report, step->result, step->result == INDEX_STORE_E_FULL, &step->fault);
}

static void index_cache_tell(struct index_cache *cache)
{
	while (!list_empty(&cache->waiters)) {
		struct index_cache_waiter *waiter =
			list_entry(cache->waiters.next, struct index_cache_waiter, link);
		list_remove(&waiter->link);
		waiter->on_kept(waiter, cache->step.result, &cache->kept, &cache->step.fault);
	}
}

static void index_cache_saved(struct task *task, int status)
{
	struct index_cache *cache = list_entry(task, struct index_cache, task);
	cache->saving = false;
	if (status < 0)
		cache->step.result = fault_say(&cache->step.fault, INDEX_STORE_E_SYSTEM,
					       "no thread could write it: errno %d", -status);
	index_cache_note(cache);
	if (cache->again)
		index_cache_save(cache);
	if (cache->saving)
		return;
	cache->telling = true;
	index_cache_tell(cache);
	cache->telling = false;
	if (!cache->users && cache->step.result == 0 && index_cache_changed(cache))
		index_cache_save(cache);
	if (!cache->users && !cache->saving)
		index_cache_free(cache);
}

void index_cache_close(struct index_cache *cache)
{
	if (!cache || --cache->users)
		return;
	if (cache->saving || cache->telling)
		return;
	if (index_cache_changed(cache))
		index_cache_save(cache);
	if (!cache->saving)
		index_cache_free(cache);
}

bool index_cache_keep(struct index_cache *cache, struct index_cache_waiter *waiter)
{
	if (!cache->caches->store)
		return false;
	if (cache->saving)
		cache->again = true;
	else
		index_cache_save(cache);
	if (cache->saving)
		list_append(&cache->waiters, &waiter->link);
	return cache->saving;
}

static bool index_cache_grown(const struct index_cache *cache)
{
	uint64_t fresh = seek_index_set_changes(cache->seek_indexes) - cache->kept_changes;
	return index_cache_changed(cache) && fresh * INDEX_CACHE_GROWN >= cache->kept.indexes;
}

void index_caches_tick(struct index_caches *caches, uint64_t now_ns)
{
	list_for_each(cache, next, &caches->list, struct index_cache, link)
		if (!cache->saving && now_ns - cache->kept_ns >= INDEX_CACHE_PERIOD_NS &&
		    index_cache_grown(cache))
			index_cache_save(cache);
}

void index_caches_stop(struct index_caches *caches, uint64_t until_ns)
{
	atomic_store(&caches->until.ns, until_ns);
	list_for_each(cache, next, &caches->list, struct index_cache, link)
		if (!cache->saving && index_cache_changed(cache))
			index_cache_save(cache);
}

uint64_t index_caches_busy_until(const struct index_caches *caches, uint64_t now_ns)
{
	uint64_t until_ns = atomic_load(&caches->until.ns);
	list_for_each(cache, next, &caches->list, struct index_cache, link)
		if (cache->saving && until_ns > now_ns && until_ns != UINT64_MAX)
			return until_ns;
	return now_ns;
}
