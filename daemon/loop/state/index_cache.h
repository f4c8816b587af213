/* SPDX-License-Identifier: MIT */
/*
 * Index cache: what was learnt of a dataset's files, its JPEG seek indexes, kept from one stay in
 * the catalog to the next. A cache owns the set of seek
 * indexes of one dataset, whoever has it open. With an index store
 * (index-dir) it fills the set before the dataset is opened, and writes it to the disk when the
 * dataset is let go, when the daemon begins to stop, now and then while it grows, and on request.
 * All of that runs in tasks; a dataset that comes back while its set is still being written gets
 * that set again.
 *
 * Loop thread, but for index_cache_load(). A disk that refuses costs a line in the log.
 */
#ifndef STOKER_LOOP_STATE_INDEX_CACHE_H
#define STOKER_LOOP_STATE_INDEX_CACHE_H

#include <stdbool.h>

#include "base/list.h"
#include "decode/jpeg/seek_index_set.h"
#include "loop/os/task.h"
#include "store/index_store.h"

struct config;
struct dataset;
struct folder_report;
struct memory;

/* All caches of the daemon. */
struct index_caches {
	struct list list;
	struct index_store *store;	    /* NULL: nothing outlives the daemon */
	const char *folder;		    /* of the store, the configuration's */
	const struct digest_secret *secret; /* of new stamps: that of what else is kept on the disk
					     * by stamp; NULL: one for each dataset */
	struct index_store_until until;	    /* no write goes on after it */
	struct folder_report *report;	    /* how the folder does; the core's */
	struct seek_index_budget *account;
	struct task_queue *tasks;
};

struct index_cache {
	struct list link; /* in caches->list */
	struct index_caches *caches;
	struct index_store_key key;
	struct seek_index_set *seek_indexes;
	struct memory *memory;	     /* what they are charged to, held once it is in the list */
	struct index_store_sum kept; /* on the disk, as far as we know */
	uint64_t kept_changes;	     /* seek_index_set_changes() of that */
	uint64_t kept_ns;
	unsigned users; /* datasets in the catalog: one of each user */
	bool saving;	/* `task` is under way */
	bool again;	/* somebody asked meanwhile */
	bool telling;
	struct list waiters;
	struct task task;
	struct index_cache_step { /* the task's, until it is done */
		int result;
		uint64_t changes;
		struct index_store_sum sum;
		struct fault fault;
	} step;
};

/* One who waits for the set to be on the disk; called once, unless its link is removed before. */
struct index_cache_waiter {
	struct list link;
	void (*on_kept)(struct index_cache_waiter *waiter, int result,
			const struct index_store_sum *sum, const struct fault *fault);
};

/* Opens the index store, if the configuration names one. `report` is kept up to date. */
void index_caches_init(struct index_caches *caches, const struct config *config,
		       struct seek_index_budget *account, struct task_queue *tasks,
		       struct folder_report *report);
void index_caches_deinit(struct index_caches *caches);
/* The folder of the index store, in which a dataset may keep its own index; NULL: there is none. */
const char *index_caches_folder(const struct index_caches *caches);
/* Any thread: a dataset has written its own there. */
void index_caches_trim(const struct index_caches *caches);

/* Any thread: a cache with what is kept of the dataset, charged to this user's memory. NULL, for
 * want of memory or by the configuration: then each read of a file is as the first. */
struct index_cache *index_cache_load(struct index_caches *caches, const struct dataset *dataset,
				     struct memory *memory);
/* The dataset has come into the catalog: `fresh`, or the cache that it left there a moment ago. The
 * dataset gets the secret that this one's stamps are made with. `memory` is that which `fresh` was
 * charged to, and who lines of the log count for. */
struct index_cache *index_cache_open(struct index_cache *fresh, struct dataset *dataset,
				     struct memory *memory);
/* Share the cache of another user's dataset that is the same files: that one, for this dataset,
 * too; `fresh` is freed. */
struct index_cache *index_cache_share(struct index_cache *cache, struct index_cache *fresh,
				      struct dataset *dataset);
/* The dataset is let go. */
void index_cache_close(struct index_cache *cache);

/* Write it now. False: there is no store, the waiter is not used. */
bool index_cache_keep(struct index_cache *cache, struct index_cache_waiter *waiter);
/* Now and then: write what has grown. */
void index_caches_tick(struct index_caches *caches, uint64_t now_ns);
/* The daemon stops: what is worth it is written until then (clock_ns()), and nothing after. */
void index_caches_stop(struct index_caches *caches, uint64_t until_ns);
/* By when the last write ends: now, if there is none. */
uint64_t index_caches_busy_until(const struct index_caches *caches, uint64_t now_ns);

#endif
