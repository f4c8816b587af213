// SPDX-License-Identifier: MIT
#include "loop/state/core.h"

#include <string.h>

#include "base/log.h"
#include "config/option.h"
#include "loop/state/folders.h"
#include "loop/state/pictures.h"
#include "loop/state/staging.h"
#include "storage/storage.h"
#include "work/pool.h"

void core_init(struct core *core, struct config *config)
{
	*core = (struct core){.config = config};
	core->held_back_due_ns = UINT64_MAX;
	core->dataset_account.limit = config->dataset_memory;
	core->seek_indexes.limit = config->index_memory;
	struct list *lists[] = {&core->datasets,  &core->streams,     &core->readers,
				&core->abandoned, &core->touched,     &core->due,
				&core->held_back, &core->catching_up, &core->index_tasks,
				&core->codes,	  &core->memories,    &core->orphans,
				&core->lingering, &core->whitening};
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		list_init(lists[i]);
}

/* Fetchers where a dataset waits for a server and nobody chose a number: 20 ms need that many. */
#define FETCHERS_FAR 64

unsigned core_fetchers(const struct core *core)
{
	unsigned chosen = core->config->fetchers;
	if (core->far_datasets &&
	    (chosen == CONFIG_AUTO || option_is_default("fetchers", core->config)))
		return FETCHERS_FAR;
	return chosen != CONFIG_AUTO ? chosen : core->auto_threads.number[AUTO_FETCHERS].now;
}

int core_resize_pool(struct core *core)
{
	uint64_t fetchers = core_fetchers(core) + core->counters[COUNTER_STUCK_READS];
	int r = pool_resize(core->pool, core_workers(core),
			    fetchers < POOL_THREADS_MAX ? (unsigned)fetchers : POOL_THREADS_MAX);
	if (r < 0)
		return r;
	core->counters[COUNTER_WORKERS] = core_workers(core);
	core->counters[COUNTER_FETCHERS] = core_fetchers(core);
	return 0;
}

void core_count_far(struct core *core, int by)
{
	unsigned before = core_fetchers(core);
	core->far_datasets += (unsigned)by;
	if (core_fetchers(core) == before || core->stopping)
		return;
	int r = core_resize_pool(core); /* fewer do, too: it is tried again with each change */
	if (r < 0)
		log_warning("cannot start %u threads that read: %s", core_fetchers(core),
			    strerror(-r));
}

uint64_t core_new_id(struct core *core)
{
	return ++core->last_id;
}

void core_count(struct core *core, enum counter counter, int64_t by)
{
	core->counters[counter] += (uint64_t)by;
}

struct folder_report core_cache_folder(const struct core *core)
{
	return folders_cache(core->config, &core->cache_dir_why, core->pictures, core->staging);
}

static void core_gather_disk(struct core *core, const struct picture_store *disk)
{
	if (!disk)
		return;
	core->counters[COUNTER_CACHE_DECODED_BYTES] = atomic_load(&disk->bytes);
	core->counters[COUNTER_CACHE_DECODED_PICTURES] = atomic_load(&disk->pictures);
	core->counters[COUNTER_CACHE_DECODED_HITS] = atomic_load(&disk->hits);
	core->counters[COUNTER_CACHE_DECODED_FILLS] = atomic_load(&disk->fills);
	core->counters[COUNTER_CACHE_DECODED_REPLACED] = atomic_load(&disk->replaced);
	core->counters[COUNTER_CACHE_DECODED_DAMAGED] = atomic_load(&disk->damaged);
	core->counters[COUNTER_CACHE_DECODED_SPEED] = atomic_load(&disk->speed.found);
}

static void core_gather_staged(struct core *core)
{
	struct stage_totals totals = {0};
	if (core->staging->stage)
		totals = stage_totals(core->staging->stage);
	core->counters[COUNTER_STAGE_BYTES] = totals.bytes;
	core->counters[COUNTER_STAGE_PINNED] = totals.pinned;
	core->counters[COUNTER_STAGE_OBJECTS] = totals.items;
	core->counters[COUNTER_STAGE_HITS] = totals.hits;
	core->counters[COUNTER_STAGE_HIT_BYTES] = totals.hit_bytes;
	core->counters[COUNTER_STAGE_FETCHED_BYTES] = totals.fetched_bytes;
	core->counters[COUNTER_STAGE_REPLACED] = totals.replaced;
	core->counters[COUNTER_STAGE_FULL] = totals.full;
	core->counters[COUNTER_STAGE_DAMAGED] = totals.damaged;
	core->counters[COUNTER_STAGE_FAILED] = totals.failed;
}

static void core_gather_folders(struct core *core)
{
	const struct folder_report index = core->index_dir;
	const struct folder_report cache = core_cache_folder(core);
	core->counters[COUNTER_INDEX_DIR_OFF] = index.off;
	core->counters[COUNTER_INDEX_DIR_REFUSED] = index.refused;
	core->counters[COUNTER_INDEX_DIR_FULL] = index.full;
	core->counters[COUNTER_CACHE_DIR_OFF] = cache.off;
	core->counters[COUNTER_CACHE_DIR_REFUSED] = cache.refused;
	core->counters[COUNTER_CACHE_DIR_FULL] = cache.full;
}

void core_gather(struct core *core)
{
	static const struct {
		enum counter counter;
		int reason;
	} refused[] = {
		{COUNTER_INDEX_PROGRESSIVE, SEEK_INDEX_E_PROGRESSIVE},
		{COUNTER_INDEX_ARITHMETIC, SEEK_INDEX_E_ARITHMETIC},
		{COUNTER_INDEX_RESTARTS, SEEK_INDEX_E_RESTARTS},
		{COUNTER_INDEX_SCANS, SEEK_INDEX_E_SCANS},
		{COUNTER_INDEX_ODD, SEEK_INDEX_E_ODD},
		{COUNTER_INDEX_DAMAGED, SEEK_INDEX_E_DAMAGED},
		{COUNTER_INDEX_STALE, SEEK_INDEX_E_INDEX},
	};
	struct seek_index_budget *indexes = &core->seek_indexes;
	const struct picture_cache *pictures = &core->pictures->cache;
	core->counters[COUNTER_CACHE_BYTES] = atomic_load(&pictures->bytes);
	core->counters[COUNTER_CACHE_LIMIT] = atomic_load(&pictures->limit);
	core->counters[COUNTER_CACHE_PICTURES] = atomic_load(&pictures->pictures);
	core->counters[COUNTER_CACHE_HITS] = atomic_load(&pictures->hits);
	core->counters[COUNTER_CACHE_FILLS] = atomic_load(&pictures->fills);
	core->counters[COUNTER_CACHE_REPLACED] = atomic_load(&pictures->replaced);
	core->counters[COUNTER_CACHE_FILES] = atomic_load(&pictures->files);
	core->counters[COUNTER_CACHE_FILE_HITS] = atomic_load(&pictures->file_hits);
	core->counters[COUNTER_CACHE_FULL] = atomic_load(&pictures->full);
	core_gather_disk(core, core->pictures->disk);
	const struct storage_counts remote = storage_counts();
	core->counters[COUNTER_REMOTE_REQUESTS] = remote.requests;
	core->counters[COUNTER_REMOTE_BYTES] = remote.bytes;
	core->counters[COUNTER_REMOTE_RETRIES] = remote.retries;
	core->counters[COUNTER_REMOTE_FAILURES] = remote.failures;
	core_gather_staged(core);
	core_gather_folders(core);
	core->counters[COUNTER_LOG_DROPPED] = log_dropped();
	core->counters[COUNTER_INDEX_BYTES] = atomic_load(&indexes->bytes);
	core->counters[COUNTER_INDEX_BUILT] = atomic_load(&indexes->built);
	core->counters[COUNTER_INDEX_USED] = atomic_load(&indexes->used);
	core->counters[COUNTER_INDEX_FULL] = atomic_load(&indexes->full);
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		core->counters[refused[i].counter] =
			atomic_load(&indexes->refused[refused[i].reason]);
}

struct decode_limits core_decode_limits(const struct core *core)
{
	const struct config *config = core->config;
	return (struct decode_limits){
		.max_pixels = config->max_pixels,
		.max_coefficient_bytes = config->max_coefficient_bytes,
		.max_scans = config->max_scans,
		.deadline_ms = config->decode_deadline_ms,
	};
}
