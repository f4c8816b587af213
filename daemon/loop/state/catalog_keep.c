// SPDX-License-Identifier: MIT
#include "loop/state/catalog_keep.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "loop/state/core.h"
#include "loop/state/index_cache.h"
#include "loop/state/memory.h"
#include "loop/state/pictures.h"
#include "loop/state/producer.h"
#include "loop/state/staging.h"

#define WARM_NS (600 * (uint64_t)1000000000)
#define LINGER_NS (2 * (uint64_t)1000000000)

static void catalog_close_caches(struct dataset_entry *entry)
{
	index_cache_close(entry->index_cache);
	pictures_close(entry->core->pictures, entry->pictures);
	stage_set_close(entry->staged);
	entry->index_cache = NULL;
	entry->seek_indexes = NULL;
	entry->pictures = NULL;
	entry->staged = NULL;
}

void catalog_free(struct dataset_entry *entry)
{
	assert(list_empty(&entry->waiters) && !entry->sizing);
	list_remove(&entry->link);
	catalog_close_caches(entry);
	if (entry->dataset && dataset_is_far(entry->dataset))
		core_count_far(entry->core, -1);
	dataset_free(entry->dataset);
	dataset_account_give(&entry->memory->account, entry->charged, false);
	memory_put(entry->memory);
	if (entry->code)
		code_put(entry->code);
	dataset_spec_deinit(&entry->spec);
	free(entry);
}

/* Nobody uses it: it goes now, or once its task has ended. */
static void catalog_drop(struct dataset_entry *entry)
{
	if (entry->sizing)
		atomic_store(&entry->progress.cancel, true);
	else
		catalog_free(entry);
}

bool catalog_may_rest(const struct dataset_entry *entry)
{
	const struct core *core = entry->core;
	return core->config->dataset_idle_ms > 0 && !core->stopping && entry->dataset &&
	       !entry->changed && !entry->outdated && !entry->sizing &&
	       dataset_can_rest(entry->dataset);
}

/* Nobody uses it: its index stays, with nothing that it was made of or that was made of it. */
static void catalog_leave(struct dataset_entry *entry)
{
	if (entry->state == ENTRY_IDLE)
		return;
	if (!catalog_may_rest(entry)) {
		catalog_drop(entry);
		return;
	}
	catalog_close_caches(entry);
	dataset_rest(entry->dataset);
	entry->state = ENTRY_IDLE;
	entry->idle_since_ns = clock_ns();
}

void catalog_make_room(struct core *core, uid_t uid)
{
	list_for_each(entry, next, &core->datasets, struct dataset_entry, link)
		if (entry->users == 0 && entry->uid == uid)
			catalog_leave(entry);
}

bool catalog_drop_idle(struct core *core, uid_t uid)
{
	bool found = false;
	list_for_each(entry, next, &core->datasets, struct dataset_entry, link) {
		if (entry->users > 0 || entry->uid != uid)
			continue;
		catalog_drop(entry);
		found = true;
	}
	return found;
}

struct dataset_entry *catalog_hold(struct dataset_entry *entry)
{
	entry->users++;
	return entry;
}

void catalog_release(struct dataset_entry *entry)
{
	entry->users--;
	/* Only the opening itself is left: nobody waits for it any more. */
	if (entry->users == 1 && !entry->dataset && list_empty(&entry->waiters))
		atomic_store(&entry->progress.cancel, true);
	bool lingers = entry->dataset && !entry->changed && !entry->core->stopping &&
		       clock_ns() < entry->linger_until_ns;
	if (entry->users == 0 && !lingers)
		catalog_leave(entry);
}

void catalog_linger(struct dataset_entry *entry, uint64_t now_ns)
{
	entry->linger_until_ns = now_ns + LINGER_NS;
}

void catalog_cool(struct dataset_entry *entry)
{
	if (entry->warm_until_ns > 0)
		entry->users--;
	entry->warm_until_ns = 0;
	if (entry->users == 0)
		catalog_drop(entry);
}

/* Only the catalog itself uses it. */
static bool catalog_only_warms(const struct dataset_entry *entry)
{
	return entry->warm_until_ns > 0 && entry->users == 1;
}

void catalog_keep_warm(struct dataset_entry *entry, uint64_t now_ns)
{
	struct dataset_entry *oldest = NULL;
	unsigned count = 0;
	if (entry->warm_until_ns == 0)
		catalog_hold(entry);
	entry->warm_until_ns = now_ns + WARM_NS;
	list_for_each(other, next, &entry->core->datasets, struct dataset_entry, link) {
		if (!catalog_only_warms(other))
			continue;
		if (!oldest || other->warm_until_ns < oldest->warm_until_ns)
			oldest = other;
		count++;
	}
	if (count >= CATALOG_WARM_MOST)
		catalog_cool(oldest);
}

static void catalog_tick_unused(struct dataset_entry *entry, uint64_t now_ns)
{
	uint64_t idle_ns = (uint64_t)entry->core->config->dataset_idle_ms * 1000000;
	if (entry->core->stopping ||
	    (entry->state == ENTRY_IDLE && now_ns >= entry->idle_since_ns + idle_ns))
		catalog_drop(entry);
	else if (now_ns >= entry->linger_until_ns)
		catalog_leave(entry);
}

static struct dataset_entry *catalog_oldest_idle(const struct core *core)
{
	struct dataset_entry *oldest = NULL;
	list_for_each(entry, next, &core->datasets, struct dataset_entry, link)
		if (entry->state == ENTRY_IDLE &&
		    (!oldest || entry->idle_since_ns < oldest->idle_since_ns))
			oldest = entry;
	return oldest;
}

/* All users' datasets may hold so much together, of which those that nobody uses go first. */
static void catalog_keep_within(struct core *core, uint64_t limit)
{
	struct dataset_entry *oldest = catalog_oldest_idle(core);
	uint64_t bytes = 0;
	list_for_each(memory, next, &core->memories, struct memory, link)
		bytes += atomic_load(&memory->account.bytes);
	for (; oldest && bytes > limit; oldest = catalog_oldest_idle(core)) {
		bytes -= oldest->charged;
		catalog_drop(oldest);
	}
}

void catalog_tick(struct core *core, uint64_t now_ns)
{
	catalog_keep_within(core, core->config->dataset_memory);
	list_for_each(entry, next, &core->datasets, struct dataset_entry, link) {
		if (entry->users == 0) {
			catalog_tick_unused(entry, now_ns);
			continue;
		}
		if (entry->warm_until_ns == 0)
			continue;
		if (!catalog_only_warms(entry))
			entry->warm_until_ns = now_ns + WARM_NS;
		if (core->stopping || entry->changed || entry->outdated ||
		    now_ns >= entry->warm_until_ns)
			catalog_cool(entry);
	}
}
