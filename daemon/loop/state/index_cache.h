/* SPDX-License-Identifier: MIT */
/*
 * Memos: what was learnt of a dataset's files, its scan indexes, from one stay in the catalog to
 * the next. A memo owns the dataset's store. With a shelf (index-dir) it fills the store before the
 * dataset is opened, and keeps it on the disk when the dataset is let go, when the daemon begins to
 * stop, now and then while it grows, and when it is asked to. All of that on libuv's threads; a
 * dataset that comes back while its store is still being written gets that store again.
 *
 * Loop thread, but for memo_load(). A disk that refuses costs a line in the log and nothing else.
 */
#ifndef STOKER_LOOP_STATE_INDEX_CACHE_H
#define STOKER_LOOP_STATE_INDEX_CACHE_H

#include <stdbool.h>
#include <uv.h>

#include "base/list.h"
#include "store/index_store.h"

struct dataset;
struct server;

struct memo {
	struct list link; /* of all of the server's */
	struct server *server;
	struct index_store_key key;
	struct seek_index_set *seek_indexes;
	struct index_store_sum kept; /* on the disk, as far as we know */
	uint64_t kept_changes;	     /* seek_index_set_changes() of that */
	uint64_t kept_ns;
	bool open;   /* its dataset is in the catalog */
	bool saving; /* `work` is under way */
	bool again;  /* somebody asked meanwhile */
	bool telling;
	struct list waiters;
	uv_work_t work;
	struct memo_step { /* the thread's, until it has called back */
		int result;
		uint64_t changes;
		struct index_store_sum sum;
		struct fault fault;
	} step;
};

/* One who waits for the store to be on the disk; called once, unless its link is removed before. */
struct memo_waiter {
	struct list link;
	void (*on_kept)(struct memo_waiter *waiter, int result, const struct index_store_sum *sum,
			const struct fault *fault);
};

/* The server's shelf, if it is to have one. */
void memo_init(struct server *server);
void memo_deinit(struct server *server);

/* Any thread: a memo with what is kept of the dataset. NULL, for want of memory or by the
 * configuration: then every visit of a file is as the first. */
struct memo *memo_load(struct server *server, const struct dataset *dataset);
/* The dataset has come into the catalog: `fresh`, or the memo that it left there a moment ago. */
struct memo *memo_open(struct memo *fresh);
void memo_drop(struct memo *fresh); /* it has not; NULL is none */
/* The dataset is let go. */
void memo_close(struct memo *memo);

/* Keep it now. False: there is no shelf, the waiter is not used. */
bool memo_keep(struct memo *memo, struct memo_waiter *waiter);
void memo_tick(struct server *server, uint64_t now_ns);
/* The daemon stops: what is worth it is written until then (clock_ns()), and nothing after. */
void memo_stop(struct server *server, uint64_t until_ns);
/* By when the last write ends: now, if there is none. */
uint64_t memo_busy_until(const struct server *server, uint64_t now_ns);

#endif
