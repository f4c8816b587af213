/* SPDX-License-Identifier: MIT */
/*
 * Pictures kept as decoded, for the loop: the cache in memory and the store on the disk, how much
 * memory the cache may have at present, and the task that gives back what is above the limits,
 * because to unmap many gigabytes, or to delete files, takes longer than the loop may wait. The
 * cache has what cache-memory says, or less: it leaves a sixteenth of the memory that the daemon
 * may use (machine_memory()) free for others, and shrinks when they take more. That is looked at
 * each second; where nothing is read and twice as much is free, every tenth. Loop thread.
 */
#ifndef STOKER_LOOP_STATE_PICTURES_H
#define STOKER_LOOP_STATE_PICTURES_H

#include <sys/types.h>

#include "cache/picture_cache.h"
#include "loop/os/task.h"
#include "store/picture_store.h"

struct cache_dir;

struct pictures {
	struct picture_cache cache;
	_Atomic uint64_t limit;	    /* cache-memory */
	struct picture_store *disk; /* below cache-dir; NULL: there is none */
	struct fault why;	    /* ... because of this; "": nobody asked for one */
	atomic_bool drop_disk;	    /* all that is there goes */
	struct pictures_said {	    /* in the log, last */
		int refusal;
		bool slow, damaged;
	} said;
	struct task_queue *tasks;
	struct task task;
	bool trimming;	   /* `task` is under way */
	bool again;	   /* there is more to give back since it began */
	atomic_bool roomy; /* twice as much memory is free as is left to others */
	uint64_t moved;	   /* what the last look saw read and kept */
	unsigned rested;   /* ticks since it changed, or since the last look */
};

void pictures_init(struct pictures *pictures, uint64_t limit, struct task_queue *tasks);
void pictures_deinit(struct pictures *pictures); /* no task is under way */

/* Keep pictures below this directory, too; what fails costs a line in the log. Before the loop. */
void pictures_open_disk(struct pictures *pictures, const struct cache_dir *dir, uint64_t limit);

void pictures_set_limit(struct pictures *pictures, uint64_t limit);
void pictures_set_disk_limit(struct pictures *pictures, uint64_t limit);
/* Each second: look how much memory is free, and how the disk does, if it is time to. */
void pictures_tick(struct pictures *pictures);
/* Budget of the cache, if it has `bytes` and of `memory` so many bytes are available. */
uint64_t pictures_budget(uint64_t limit, uint64_t bytes, uint64_t memory, uint64_t available);
/* A set of this user's for so many samples; NULL: there is no memory for it, so no picture is kept.
 */
struct picture_set *pictures_open(struct pictures *pictures, uid_t uid, uint64_t samples);
/* Give back what is kept in the set, soon. */
void pictures_drop(struct pictures *pictures, struct picture_set *set);
/* Delete all that is on the disk, soon. */
void pictures_drop_disk(struct pictures *pictures);
/* A set of the dataset's pictures was let go; NULL: there was none. */
void pictures_close(struct pictures *pictures, struct picture_set *set);

#endif
