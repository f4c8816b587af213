// SPDX-License-Identifier: MIT
#include "loop/state/catalog.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "loop/engine/fit.h"
#include "loop/server.h"
#include "loop/state/index_cache.h"

static void catalog_free(struct dataset_entry *entry)
{
	assert(list_empty(&entry->waiters));
	list_remove(&entry->link);
	memo_close(entry->memo);
	dataset_free(entry->dataset);
	dataset_spec_deinit(&entry->spec);
	free(entry);
}

/* libuv's thread: indexing blocks. */
static void catalog_work(uv_work_t *work)
{
	struct dataset_entry *entry = work->data;
	entry->opening.result = dataset_open(&entry->opening.dataset, &entry->spec,
					     &entry->progress, &entry->opening.fault);
	if (entry->opening.result == 0)
		fit_load(&entry->opening.fitted, entry->server, entry->opening.dataset);
	if (entry->opening.result == 0 && !dataset_has_pixels(entry->opening.dataset))
		entry->opening.memo = memo_load(entry->server, entry->opening.dataset);
}

static void catalog_opened(uv_work_t *work, int status)
{
	struct dataset_entry *entry = work->data;
	struct server *server = entry->server;
	server->pending--;
	entry->result = status < 0 ? status : entry->opening.result;
	if (entry->result == 0) {
		entry->dataset = entry->opening.dataset;
		fit_keep_loaded(server, entry->opening.fitted);
		entry->memo = memo_open(entry->opening.memo);
		entry->seek_indexes = entry->memo ? entry->memo->seek_indexes : NULL;
		log_info("dataset %s: %llu samples, %llu files that are none, index %zu bytes",
			 entry->spec.path, (unsigned long long)dataset_count(entry->dataset),
			 (unsigned long long)dataset_skipped(entry->dataset),
			 dataset_index_bytes(entry->dataset));
	} else if (entry->result < 0) {
		fault_say(&entry->opening.fault, entry->result, "%s: %s", entry->spec.path,
			  uv_strerror(entry->result));
	}
	/* Held for as long as waiters are told: one of them may release the last hold. */
	catalog_hold(entry);
	while (!list_empty(&entry->waiters)) {
		struct catalog_waiter *waiter =
			list_entry(entry->waiters.next, struct catalog_waiter, link);
		list_remove(&waiter->link);
		waiter->on_opened(waiter, entry->result, &entry->opening.fault);
	}
	entry->users--; /* the opening's own hold */
	catalog_release(entry);
	server_check_drained(server);
}

static struct dataset_entry *catalog_find(struct server *server, const struct dataset_spec *spec)
{
	list_for_each(entry, next, &server->datasets, struct dataset_entry, link)
		/* One that failed or is given up waits for its thread only. */
		if (dataset_spec_equal(&entry->spec, spec) && entry->result == 0 &&
		    !atomic_load(&entry->progress.cancel))
			return entry;
	return NULL;
}

static int catalog_new(struct dataset_entry **out, struct server *server, struct dataset_spec *spec)
{
	struct dataset_entry *entry = calloc(1, sizeof(*entry));
	if (!entry) {
		dataset_spec_deinit(spec);
		return -ENOMEM;
	}
	entry->id = server_new_id(server);
	entry->server = server;
	entry->spec = *spec;
	entry->progress.account = &server->dataset_account;
	*spec = DATASET_SPEC_NULL;
	list_init(&entry->waiters);
	list_append(&server->datasets, &entry->link);
	entry->work.data = entry;
	int r = uv_queue_work(&server->loop, &entry->work, catalog_work, catalog_opened);
	if (r < 0) {
		catalog_free(entry);
		return r;
	}
	server->pending++;
	entry->users = 1; /* the opening's */
	*out = entry;
	return 0;
}

int catalog_get(struct dataset_entry **out, struct server *server, struct dataset_spec *spec,
		struct catalog_waiter *waiter)
{
	struct dataset_entry *entry = catalog_find(server, spec);
	if (entry) {
		dataset_spec_deinit(spec);
	} else {
		int r = catalog_new(&entry, server, spec);
		if (r < 0)
			return r;
	}
	if (!entry->dataset)
		list_append(&entry->waiters, &waiter->link);
	*out = catalog_hold(entry);
	return 0;
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
	if (entry->users == 0)
		catalog_free(entry);
}
