// SPDX-License-Identifier: MIT
#include "loop/state/index_cache.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "dataset/dataset.h"
#include "loop/server.h"

#define MEMO_PERIOD_NS ((uint64_t)300 * 1000000000u)
#define MEMO_GROWN 8 /* worth writing again: one in so many is new */

void memo_init(struct server *server)
{
	const struct config *config = server->config;
	struct fault fault;
	list_init(&server->memos);
	server->memo_until = INDEX_STORE_UNTIL_NEVER;
	if (!config->index_dir || server->seek_indexes.limit == 0)
		return;
	if (index_store_open(&server->index_store, config->index_dir, server->seek_indexes.limit,
			     &fault))
		log_warning("indexes are not kept on the disk (index-dir): %s", fault.text);
}

void memo_deinit(struct server *server)
{
	assert(list_empty(&server->memos));
	index_store_close(server->index_store);
}

/* -- begin and end ------------------------------------------------------------------------ */

static void memo_free(struct memo *memo)
{
	assert(list_empty(&memo->waiters) && !memo->saving);
	list_remove(&memo->link);
	seek_index_set_free(memo->seek_indexes);
	free(memo);
}

struct memo *memo_load(struct server *server, const struct dataset *dataset)
{
	struct memo *memo = server->seek_indexes.limit > 0 ? calloc(1, sizeof(*memo)) : NULL;
	if (!memo)
		return NULL;
	memo->server = server;
	memo->key = (struct index_store_key){dataset_fingerprint(dataset), dataset_count(dataset)};
	list_init(&memo->link);
	list_init(&memo->waiters);
	if (seek_index_set_new(&memo->seek_indexes, &server->seek_indexes, memo->key.samples) < 0) {
		free(memo);
		return NULL;
	}
	memo->step.result = INDEX_STORE_E_NONE;
	if (server->index_store)
		memo->step.result =
			index_store_load(server->index_store, &memo->key, memo->seek_indexes,
					 &server->memo_until, &memo->kept, &memo->step.fault);
	return memo;
}

static struct memo *memo_left(const struct memo *fresh)
{
	list_for_each(memo, next, &fresh->server->memos, struct memo, link)
		if (!memo->open && memo->key.samples == fresh->key.samples &&
		    digest_equal(&memo->key.fingerprint, &fresh->key.fingerprint))
			return memo;
	return NULL;
}

struct memo *memo_open(struct memo *fresh)
{
	if (!fresh)
		return NULL;
	struct memo *memo = memo_left(fresh);
	if (memo) {
		memo_drop(fresh);
	} else {
		memo = fresh;
		if (memo->step.result == 0)
			log_info("%llu indexes of JPEGs (%llu bytes) were kept of this dataset",
				 (unsigned long long)memo->kept.indexes,
				 (unsigned long long)memo->kept.bytes);
		else if (memo->step.result != INDEX_STORE_E_NONE)
			log_warning("%llu indexes of JPEGs were kept of this dataset; the rest "
				    "is built anew: %s",
				    (unsigned long long)memo->kept.indexes, memo->step.fault.text);
		memo->kept_ns = clock_ns();
		list_append(&memo->server->memos, &memo->link);
	}
	memo->open = true;
	return memo;
}

void memo_drop(struct memo *fresh)
{
	if (fresh)
		memo_free(fresh);
}

/* -- to the disk -------------------------------------------------------------------------- */

static void memo_work(uv_work_t *work)
{
	struct memo *memo = work->data;
	struct memo_step *step = &memo->step;
	struct server *server = memo->server;
	step->changes = seek_index_set_changes(
		memo->seek_indexes); /* before: what comes meanwhile may be left out */
	step->sum = (struct index_store_sum){0};
	step->result = index_store_save(server->index_store, &memo->key, memo->seek_indexes,
					&server->memo_until, &step->sum, &step->fault);
}

static void memo_saved(uv_work_t *work, int status);

static void memo_save(struct memo *memo)
{
	struct server *server = memo->server;
	memo->again = false;
	memo->work.data = memo;
	memo->saving = uv_queue_work(&server->loop, &memo->work, memo_work, memo_saved) == 0;
	if (memo->saving)
		server->pending++;
}

static bool memo_changed(const struct memo *memo)
{
	return memo->server->index_store &&
	       seek_index_set_changes(memo->seek_indexes) != memo->kept_changes;
}

/* One line until it works again: it will be tried often. */
static void memo_note(struct memo *memo)
{
	struct server *server = memo->server;
	const struct memo_step *step = &memo->step;
	memo->kept_ns = clock_ns();
	if (step->result == 0) {
		memo->kept = step->sum;
		memo->kept_changes = step->changes;
	} else if (!server->memo_refused) {
		log_warning("indexes are not kept on the disk (index-dir): %s", step->fault.text);
	}
	server->memo_refused = step->result != 0;
}

static void memo_tell(struct memo *memo)
{
	while (!list_empty(&memo->waiters)) {
		struct memo_waiter *waiter =
			list_entry(memo->waiters.next, struct memo_waiter, link);
		list_remove(&waiter->link);
		waiter->on_kept(waiter, memo->step.result, &memo->kept, &memo->step.fault);
	}
}

static void memo_saved(uv_work_t *work, int status)
{
	struct memo *memo = work->data;
	memo->server->pending--;
	memo->saving = false;
	if (status < 0)
		memo->step.result = fault_say(&memo->step.fault, INDEX_STORE_E_SYSTEM, "%s",
					      uv_strerror(status));
	memo_note(memo);
	if (memo->again)
		memo_save(memo);
	if (memo->saving)
		return;
	memo->telling = true;
	memo_tell(memo);
	memo->telling = false;
	if (!memo->open && memo->step.result == 0 && memo_changed(memo))
		memo_save(memo);
	if (!memo->open && !memo->saving)
		memo_free(memo);
}

void memo_close(struct memo *memo)
{
	if (!memo)
		return;
	memo->open = false;
	if (memo->saving || memo->telling)
		return;
	if (memo_changed(memo))
		memo_save(memo);
	if (!memo->saving)
		memo_free(memo);
}

bool memo_keep(struct memo *memo, struct memo_waiter *waiter)
{
	if (!memo->server->index_store)
		return false;
	if (memo->saving)
		memo->again = true;
	else
		memo_save(memo);
	if (memo->saving)
		list_append(&memo->waiters, &waiter->link);
	return memo->saving;
}

static bool memo_grown(const struct memo *memo)
{
	uint64_t fresh = seek_index_set_changes(memo->seek_indexes) - memo->kept_changes;
	return memo_changed(memo) && fresh * MEMO_GROWN >= memo->kept.indexes;
}

void memo_tick(struct server *server, uint64_t now_ns)
{
	list_for_each(memo, next, &server->memos, struct memo, link)
		if (!memo->saving && now_ns - memo->kept_ns >= MEMO_PERIOD_NS && memo_grown(memo))
			memo_save(memo);
}

void memo_stop(struct server *server, uint64_t until_ns)
{
	atomic_store(&server->memo_until.ns, until_ns);
	list_for_each(memo, next, &server->memos, struct memo, link)
		if (!memo->saving && memo_changed(memo))
			memo_save(memo);
}

uint64_t memo_busy_until(const struct server *server, uint64_t now_ns)
{
	uint64_t until_ns = atomic_load(&server->memo_until.ns);
	list_for_each(memo, next, &server->memos, struct memo, link)
		if (memo->saving && until_ns > now_ns && until_ns != UINT64_MAX)
			return until_ns;
	return now_ns;
}
