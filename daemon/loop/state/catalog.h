/* SPDX-License-Identifier: MIT */
/*
 * The catalog: every dataset in use, opened once however many streams use it. Indexing is a task;
 * whoever asks meanwhile waits here. A dataset is a snapshot: it goes with its last stream, so that
 * the next ATTACH sees the files as they are then. Loop thread.
 */
#ifndef STOKER_LOOP_STATE_CATALOG_H
#define STOKER_LOOP_STATE_CATALOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "dataset/dataset.h"
#include "loop/os/task.h"

struct core;
struct index_cache;
struct seek_index_set;
struct statistics;

/* One who waits for a dataset; called once, with what came of it, unless taken back before. */
struct catalog_waiter {
	struct list link;
	void (*on_opened)(struct catalog_waiter *waiter, int result, const struct fault *fault);
};

struct dataset_entry {
	uint64_t id;
	struct core *core;
	struct list link;
	struct dataset_spec spec;
	struct dataset *dataset;	     /* NULL until it is open */
	struct index_cache *index_cache;     /* what was learnt of its files; NULL: nothing is */
	struct seek_index_set *seek_indexes; /* the index cache's; NULL: none are kept */
	int result;			     /* of the opening, once it is over */
	struct dataset_progress progress;
	unsigned users;
	struct list waiters;
	struct task task;
	struct { /* the task's, until it is done */
		struct dataset *dataset;
		struct index_cache *index_cache;
		struct statistics *fitted; /* that were kept of it */
		int result;
		struct fault fault;
	} opening;
};

/*
 * The entry of this dataset, held; opened already (then `dataset` is set and the waiter is not
 * used) or being opened (then the waiter is called later). Takes the spec over. 0 or negative
 * errno.
 */
int catalog_get(struct dataset_entry **out, struct core *core, struct dataset_spec *spec,
		struct catalog_waiter *waiter);
struct dataset_entry *catalog_hold(struct dataset_entry *entry);
void catalog_release(struct dataset_entry *entry); /* frees it with its last user */

#endif
