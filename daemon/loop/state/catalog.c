// SPDX-License-Identifier: MIT
#include "loop/state/catalog.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/log_user.h"
#include "base/owner.h"
#include "base/quote.h"
#include "decode/jpeg/seek_index_set.h"
#include "loop/state/core.h"
#include "loop/state/index_cache.h"
#include "loop/state/pictures.h"
#include "loop/state/producer.h"
#include "loop/state/staging.h"
#include "loop/state/statistics_store.h"
#include "proto/message.h"

/* a task's thread */
static void catalog_read_statistics(struct dataset_entry *entry)
{
	statistics_store_read(entry->core->statistics, entry->uid, &entry->opening.fingerprint,
			      &entry->opening.fitted);
}

/* a task's thread. Is there another entry, which is as it was? An idle one is opened again. */
static bool catalog_looks_as_before(struct dataset_entry *entry)
{
	struct dataset *before = entry->before ? entry->before->dataset : NULL;
	if (!before)
		return false;
	entry->opening.as_before = entry->opening.wakes ? dataset_wake(before, &entry->spec)
							: dataset_is_current(before, &entry->spec);
	if (entry->opening.as_before && entry->opening.wakes)
		entry->opening.index_cache =
			index_cache_load(entry->core->index_caches, before, entry->memory);
	return entry->opening.as_before;
}

/* a task's thread: indexing blocks. */
static void catalog_open(struct task *task)
{
	struct dataset_entry *entry = list_entry(task, struct dataset_entry, task);
	if (catalog_looks_as_before(entry))
		return;
	entry->opening.result = dataset_open(&entry->opening.dataset, &entry->spec,
					     &entry->progress, &entry->opening.fault);
	dataset_progress_end(&entry->progress);
	if (entry->progress.kept)
		index_caches_trim(entry->core->index_caches);
	if (entry->opening.result == 0 && dataset_is_sized(entry->opening.dataset)) {
		entry->opening.fingerprint = dataset_fingerprint(entry->opening.dataset);
		catalog_read_statistics(entry);
	}
	if (entry->opening.result == 0 && !dataset_has_pixels(entry->opening.dataset))
		entry->opening.index_cache = index_cache_load(
			entry->core->index_caches, entry->opening.dataset, entry->memory);
}

/* Another user's entry of the same files, of which something is learnt; or NULL. Who describes
 * files of his own as another's would displace all that was learnt of those. */
static const struct dataset_entry *catalog_sibling(const struct dataset_entry *entry)
{
	list_for_each(other, next, &entry->core->datasets, struct dataset_entry, link)
		if (other != entry && other->index_cache && !entry->code &&
		    dataset_spec_same(&other->spec, &entry->spec) &&
		    dataset_same_files(other->dataset, entry->dataset))
			return other;
	return NULL;
}

/* Open the caches of a dataset. For want of memory or by the configuration nothing is kept. */
static void catalog_open_caches(struct dataset_entry *entry)
{
	const struct dataset_entry *sibling = catalog_sibling(entry);
	if (sibling && entry->opening.index_cache) {
		entry->index_cache = index_cache_share(sibling->index_cache,
						       entry->opening.index_cache, entry->dataset);
		entry->pictures = picture_set_hold(sibling->pictures);
		entry->staged = stage_set_hold(sibling->staged);
	} else {
		entry->index_cache =
			index_cache_open(entry->opening.index_cache, entry->dataset, entry->memory);
		if (!dataset_has_pixels(entry->dataset)) {
			entry->staged = staging_open(entry->core->staging, entry->uid);
			if (dataset_is_pure(entry->dataset))
				entry->pictures = pictures_open(entry->core->pictures, entry->uid,
								dataset_count(entry->dataset));
		}
	}
	if (!entry->index_cache && entry->core->index_caches->secret)
		dataset_set_secret(entry->dataset, entry->core->index_caches->secret);
	entry->seek_indexes = entry->index_cache && dataset_is_pure(entry->dataset)
				      ? entry->index_cache->seek_indexes
				      : NULL;
}

/* To the log, and to the note. */
static void catalog_say(struct dataset_entry *entry, const char *words)
{
	struct fault before = entry->note;
	fault_say(&entry->note, 0, "%s%s%s", before.text, *before.text ? "; " : "", words);
	log_warning("dataset %s: %s", entry->spec.path, words);
}

void catalog_note_clipped(struct dataset_entry *entry, uint64_t sample)
{
	struct fault words;
	struct quote quote;
	char path[256];
	if (entry->clips)
		return;
	entry->clips = true;
	dataset_path(entry->dataset, sample, path, sizeof(path));
	fault_say(&words, 0,
		  "%s is grey of 16 bits, and what is above 255 becomes 255, as with Pillow's "
		  "convert(\"RGB\"): to keep all of it, write files of 8 bits, divided by "
		  "257, or float32 arrays",
		  quote_text(&quote, path));
	catalog_say(entry, words.text);
}

/* The first who waits for no more than there is. */
static struct catalog_waiter *catalog_next_waiter(const struct dataset_entry *entry)
{
	list_for_each(waiter, next, &entry->waiters, struct catalog_waiter, link)
		if (!waiter->sized || !entry->sizing)
			return waiter;
	return NULL;
}

/* Tell those who wait. Held meanwhile: one of them may release the last hold. */
static void catalog_tell(struct dataset_entry *entry, int result)
{
	struct catalog_waiter *waiter;
	catalog_hold(entry);
	while ((waiter = catalog_next_waiter(entry))) {
		list_remove(&waiter->link);
		waiter->on_opened(waiter, result, &entry->opening.fault);
	}
	catalog_release(entry);
}

/* 0, or that sizes are wanted and will never be known: the entry's fault says why. */
static int catalog_lacks(const struct dataset_entry *entry, bool sized)
{
	return sized && !dataset_is_sized(entry->dataset) ? DATASET_E_OPEN : 0;
}

/* The opening has ended: its own hold goes, and all who waited for it hold `before` instead. */
static void catalog_give_before(struct dataset_entry *entry, struct dataset_entry *before)
{
	while (!list_empty(&entry->waiters)) {
		struct catalog_waiter *waiter =
			list_entry(entry->waiters.next, struct catalog_waiter, link);
		list_remove(&waiter->link);
		*waiter->entry = catalog_hold(before);
		catalog_release(entry);
		if (waiter->sized && before->sizing)
			list_append(&before->waiters, &waiter->link);
		else
			waiter->on_opened(waiter, catalog_lacks(before, waiter->sized),
					  &before->opening.fault);
	}
	catalog_release(entry);
}

/* -- sizes that follow -------------------------------------------------------------------- */

/* a task's thread */
static void catalog_size(struct task *task)
{
	struct dataset_entry *entry = list_entry(task, struct dataset_entry, task);
	entry->opening.result = dataset_look(entry->dataset, &entry->progress,
					     &entry->opening.fingerprint, &entry->opening.fault);
	dataset_progress_end(&entry->progress);
	if (entry->opening.result == 0)
		catalog_read_statistics(entry);
}

static void catalog_say_unsized(struct dataset_entry *entry)
{
	struct fault why = entry->opening.fault;
	struct quote quote;
	entry->outdated = true;
	doubts_add(&entry->core->doubts, entry->uid, entry->spec.path, clock_ns());
	fault_say(&entry->opening.fault, DATASET_E_OPEN,
		  "%s was looked at behind its opening, and its fingerprint is not known: %s: open "
		  "it when it changes no more",
		  quote_text(&quote, entry->spec.path), why.text);
	log_user_about(&(struct log_facts){.uid = entry->uid, .dataset = entry->id}, LOG_DATASETS,
		       LOG_LEVEL_WARNING, "dataset %s", entry->opening.fault.text);
}

static void catalog_sized(struct task *task, int status)
{
	struct dataset_entry *entry = list_entry(task, struct dataset_entry, task);
	int result = status < 0 ? status : entry->opening.result;
	entry->sizing = false;
	if (atomic_load(&entry->progress.cancel)) {
		if (entry->users == 0)
			catalog_free(entry);
		return;
	}
	if (result == 0) {
		dataset_complete(entry->dataset, &entry->opening.fingerprint);
		statistics_store_add_read(entry->core->statistics, entry->opening.fitted);
		log_user_about(&(struct log_facts){.uid = entry->uid, .dataset = entry->id},
			       LOG_DATASETS, LOG_LEVEL_INFO,
			       "dataset %s: the sizes of its files are known", entry->spec.path);
	} else {
		if (result < 0)
			fault_say(&entry->opening.fault, result, "%s", strerror(-result));
		catalog_say_unsized(entry);
	}
	catalog_tell(entry, result ? DATASET_E_OPEN : 0);
}

static void catalog_begin_sizing(struct dataset_entry *entry)
{
	entry->progress.names = false;
	atomic_store(&entry->progress.found, 0);
	int r = task_start(&entry->task, &entry->core->tasks, TASK_OPENING, entry->uid,
			   catalog_size, catalog_sized);
	entry->sizing = r == 0;
	if (r < 0) {
		fault_say(&entry->opening.fault, r, "%s", strerror(-r));
		catalog_say_unsized(entry);
	}
}

/* An idle dataset is in use again, as what `entry` asks for: it was opened with its rights. */
static void catalog_wake(struct dataset_entry *before, struct dataset_entry *entry)
{
	struct dataset_spec spec = before->spec;
	before->spec = entry->spec;
	entry->spec = spec;
	dataset_spec_close_descriptors(&before->spec);
	before->opening.index_cache = entry->opening.index_cache;
	before->state = ENTRY_IN_USE;
	catalog_open_caches(before);
	if (!dataset_is_sized(before->dataset))
		catalog_begin_sizing(before);
}

/* Settle an open dataset: it is as it was, or no longer given to newcomers. True: it was given to
 * those who wait. */
static bool catalog_settle_before(struct dataset_entry *entry)
{
	struct dataset_entry *before = entry->before;
	bool as_before = before && entry->result == 0 && entry->opening.as_before;
	entry->before = NULL;
	if (as_before && entry->opening.wakes)
		catalog_wake(before, entry);
	if (as_before)
		catalog_give_before(entry, before);
	else if (before && (entry->result >= 0 || entry->opening.wakes))
		before->outdated = true;
	if (before)
		catalog_release(before);
	return as_before;
}

static void catalog_opened(struct task *task, int status);

/* Begin once more if there was no room for it beside datasets that nobody uses, which go; the one
 * that it could not wake has gone. */
static bool catalog_open_again(struct dataset_entry *entry)
{
	uint64_t refusals = atomic_load(&entry->memory->account.refusals);
	bool full = entry->result == DATASET_E_OPEN && refusals != entry->refusals;
	if (!full || atomic_load(&entry->progress.cancel))
		return false;
	if (!catalog_drop_idle(entry->core, entry->uid) && !entry->opening.wakes)
		return false;
	entry->opening.wakes = false;
	entry->refusals = refusals;
	atomic_store(&entry->progress.found, 0);
	int r = task_start(&entry->task, &entry->core->tasks, TASK_OPENING, entry->uid,
			   catalog_open, catalog_opened);
	if (r < 0)
		return false;
	entry->result = 0;
	return true;
}

static void catalog_opened(struct task *task, int status)
{
	struct dataset_entry *entry = list_entry(task, struct dataset_entry, task);
	entry->result = status < 0 ? status : entry->opening.result;
	if (catalog_settle_before(entry) || catalog_open_again(entry))
		return;
	dataset_spec_close_descriptors(&entry->spec);
	if (entry->result == 0) {
		entry->dataset = entry->opening.dataset;
		entry->charged = dataset_index_bytes(entry->dataset);
		atomic_fetch_add(&entry->memory->account.bytes, entry->charged);
		statistics_store_add_read(entry->core->statistics, entry->opening.fitted);
		catalog_open_caches(entry);
		if (dataset_is_far(entry->dataset))
			core_count_far(entry->core, 1);
		log_user_about(
			&(struct log_facts){.uid = entry->uid, .dataset = entry->id}, LOG_DATASETS,
			LOG_LEVEL_INFO,
			"dataset %s: %llu samples, %llu files skipped (not images), index %zu "
			"bytes",
			entry->spec.path, (unsigned long long)dataset_count(entry->dataset),
			(unsigned long long)dataset_skipped(entry->dataset),
			dataset_index_bytes(entry->dataset));
		if (*dataset_note(entry->dataset))
			catalog_say(entry, dataset_note(entry->dataset));
		if (!dataset_is_sized(entry->dataset))
			catalog_begin_sizing(entry);
	} else if (entry->result < 0) {
		fault_say(&entry->opening.fault, entry->result, "%s: %s", entry->spec.path,
			  strerror(-entry->result));
	}
	catalog_tell(entry, entry->result);
	catalog_release(entry); /* the opening's own hold */
}

static bool catalog_is_expected(const struct dataset_entry *entry, const struct catalog_wish *wish)
{
	char own[33];
	if (!entry->dataset)
		return false;
	bool sized = dataset_is_sized(entry->dataset);
	const char *expected = sized && *wish->expected ? wish->expected : wish->expected_names;
	struct digest digest = dataset_fingerprint(entry->dataset);
	if (expected == wish->expected_names && !dataset_names(entry->dataset, &digest))
		return false;
	digest_hex(&digest, own);
	return expected && strcmp(own, expected) == 0;
}

/* Is there, or will there be, as much of its fingerprints as is wished for? */
static bool catalog_can_be_sized(const struct dataset_entry *entry, const struct catalog_wish *wish)
{
	return !wish->sized || !entry->dataset || entry->sizing || dataset_is_sized(entry->dataset);
}

/* Is an open one worth a look whether it is as it was? */
static bool catalog_may_be_given(const struct dataset_entry *entry)
{
	return entry->users > 0 ? !entry->changed && !entry->outdated : catalog_may_rest(entry);
}

/* The entry that is right as it is: that of its job, or with what is expected, or being opened;
 * else NULL, and *before_out is an open one that may be. */
static struct dataset_entry *catalog_find(struct core *core, const struct dataset_spec *spec,
					  const struct catalog_wish *wish,
					  struct dataset_entry **before_out)
{
	struct dataset_entry *opening = NULL;
	*before_out = NULL;
	list_for_each(entry, next, &core->datasets, struct dataset_entry, link) {
		/* One that failed or is given up waits for its thread only. */
		if (entry->uid != wish->uid || !dataset_spec_equal(&entry->spec, spec) ||
		    entry->result != 0 || entry->state == ENTRY_WAKING ||
		    atomic_load(&entry->progress.cancel) || !catalog_can_be_sized(entry, wish))
			continue;
		if (entry == wish->of_job)
			return entry;
		bool in_use = entry->state == ENTRY_IN_USE;
		if (in_use && !entry->changed && catalog_is_expected(entry, wish))
			return entry;
		if (!entry->dataset)
			opening = entry;
		else if (catalog_may_be_given(entry) && (in_use || !*before_out))
			*before_out = entry;
	}
	return opening;
}

static int catalog_new(struct dataset_entry **out, struct core *core, struct dataset_spec *spec,
		       const struct catalog_wish *wish, struct dataset_entry *before)
{
	uid_t uid = wish->uid;
	struct memory *memory = memory_get(core, uid, wish->limits);
	struct dataset_entry *entry = memory ? calloc(1, sizeof(*entry)) : NULL;
	if (!entry) {
		memory_put(memory);
		dataset_spec_deinit(spec);
		return -ENOMEM;
	}
	entry->memory = memory;
	entry->id = core_new_id(core);
	entry->core = core;
	entry->spec = *spec;
	entry->uid = uid;
	entry->progress.account = &memory->account;
	entry->progress.keep_folder = index_caches_folder(core->index_caches);
	entry->progress.keep_owner = owner_of(uid);
	entry->progress.stage = core->staging->stage;
	entry->progress.stage_user = uid;
	entry->progress.names =
		!wish->sized && !doubts_have(&core->doubts, uid, entry->spec.path, clock_ns());
	*spec = DATASET_SPEC_NULL;
	list_init(&entry->waiters);
	list_append(&core->datasets, &entry->link);
	if (entry->spec.code)
		entry->code = code_get(core, uid, entry->spec.code, entry->spec.secret);
	if (entry->spec.code && !entry->code) {
		catalog_free(entry);
		return -ENOMEM;
	}
	entry->refusals = atomic_load(&memory->account.refusals);
	entry->before = before ? catalog_hold(before) : NULL;
	entry->opening.wakes = before && before->state == ENTRY_IDLE;
	int r = task_start(&entry->task, &core->tasks, TASK_OPENING, uid, catalog_open,
			   catalog_opened);
	if (r < 0) {
		if (before)
			catalog_release(before);
		catalog_free(entry);
		return r;
	}
	entry->users = 1; /* the opening's */
	if (entry->opening.wakes)
		before->state = ENTRY_WAKING;
	*out = entry;
	return 0;
}

int catalog_get(struct dataset_entry **out, struct core *core, struct dataset_spec *spec,
		const struct catalog_wish *wish, struct catalog_waiter *waiter)
{
	struct dataset_entry *before;
	struct dataset_entry *entry = catalog_find(core, spec, wish, &before);
	waiter->entry = out;
	waiter->sized = wish->sized;
	if (!entry && before && before->state == ENTRY_IN_USE &&
	    dataset_is_still(before->dataset, spec) &&
	    dataset_spec_same_reader(&before->spec, spec))
		entry = before;
	if (entry) {
		dataset_spec_deinit(spec);
	} else {
		catalog_make_room(core, wish->uid);
		int r = catalog_new(&entry, core, spec, wish, before);
		if (r < 0)
			return r;
	}
	if (!entry->dataset || (wish->sized && entry->sizing))
		list_append(&entry->waiters, &waiter->link);
	*out = catalog_hold(entry);
	return 0;
}

unsigned catalog_error(const struct dataset_entry *entry, int result)
{
	if (result == DATASET_E_PERMISSION)
		return ERROR_PERMISSION;
	bool refused = result > 0 && dataset_spec_is_refused(&entry->spec);
	return refused ? ERROR_CREDENTIALS : ERROR_DATASET;
}
