/* SPDX-License-Identifier: MIT */
/*
 * Staging (stage/stage.h) for the loop: the stage of cache-dir, if there is one, its limits
 * (cache-size, cache-free), what is local and kept there, too (stage-root), and the task that gives
 * disk space back, because to delete files, or to ask how much room there is, takes longer than the
 * loop may wait. Loop thread.
 */
#ifndef STOKER_LOOP_STATE_STAGING_H
#define STOKER_LOOP_STATE_STAGING_H

#include <sys/types.h>

#include "config.h"
#include "loop/os/task.h"
#include "stage/stage.h"
#include "store/cache_dir.h"

struct staging {
	struct stage *stage; /* NULL: nothing is staged */
	struct fault why;    /* ... because of this; "": there is no cache-dir */
	struct task_queue *tasks;
	struct task task;
	bool trimming; /* `task` is under way */
	bool said;     /* that a file could not be written */
};

/* Before the loop runs: what an earlier daemon left is taken over. `dir` is closed if there is no
 * cache-dir. */
void staging_init(struct staging *staging, const struct cache_dir *dir, const struct config *config,
		  struct task_queue *tasks);
void staging_deinit(struct staging *staging); /* no task is under way, all sets are closed */

void staging_set_limits(struct staging *staging, const struct config *config);
/* Each second. */
void staging_tick(struct staging *staging);
/* All that is kept, or what is kept of this set's folders, goes soon. */
void staging_drop(struct staging *staging);
void staging_drop_set(struct staging *staging, struct stage_set *set);
/* As stage_set_pin(), and soon on the disk. */
int staging_pin_set(struct staging *staging, struct stage_set *set, bool pinned,
		    struct fault *fault);
void staging_unpin(struct staging *staging);
/* A dataset's set of this user; NULL: nothing of it is staged. */
struct stage_set *staging_open(struct staging *staging, uid_t uid);

#endif
