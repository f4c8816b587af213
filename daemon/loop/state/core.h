/* SPDX-License-Identifier: MIT */
/*
 * Core: the state that all units of the loop share: settings, counters, ids, and the heads of the
 * lists of what there is. Each list belongs to the unit of its members. Knows no socket, no handle
 * and none of those units. Loop thread; tasks may read `config`, `shm_prefix` and the accounts.
 */
#ifndef STOKER_LOOP_STATE_CORE_H
#define STOKER_LOOP_STATE_CORE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "config.h"
#include "dataset/dataset.h"
#include "decode/decode.h"
#include "decode/jpeg/seek_index_set.h"
#include "loop/meter/histogram.h"
#include "loop/meter/wait_time.h"
#include "loop/os/task.h"
#include "loop/state/auto_threads.h"
#include "loop/state/doubts.h"
#include "loop/state/folders.h"
#include "proto/message.h"

struct bad_samples;
struct index_caches;
struct pool;
struct job_queue;
struct pictures;
struct staging;
struct statistics_store;
struct users;

#define CORE_SERIES_MAX 200 /* readers with series of their own in the metrics */

struct core {
	struct config *config; /* the main program's; live settings change in it */
	struct pool *pool;
	struct task_queue tasks;
	char shm_prefix[64]; /* of the names of rings in /dev/shm */

	/* The server's. */
	struct users *users;
	struct bad_samples *bad_samples;
	struct statistics_store *statistics;
	struct index_caches *index_caches;
	struct pictures *pictures;
	struct staging *staging;
	struct job_queue *jobs;

	struct list datasets;	 /* struct dataset_entry */
	struct list streams;	 /* struct stream */
	struct list readers;	 /* struct reader */
	struct list abandoned;	 /* struct ring without readers; jobs or leases keep it */
	struct list touched;	 /* struct ring that the next step looks at */
	struct list due;	 /* struct reader that the next step looks at */
	struct list held_back;	 /* struct reader that is kept from its next batch */
	struct list catching_up; /* struct reader that may be able to merge into a ring ahead */
	struct list index_tasks; /* struct index_task */
	struct list memories;	 /* struct memory */
	struct list orphans;	 /* struct orphan */
	struct list codes;	 /* struct code */
	struct list lingering;	 /* protocol/passed_fds.c's */
	struct doubts doubts;	 /* the catalog's */
	struct list whitening;	 /* struct fit, those that whiten */
	unsigned attaching;	 /* attachments on their way */
	unsigned series;	 /* readers with series of their own in the metrics */

	uint64_t counters[COUNTER_COUNT];
	struct histogram histograms[HISTOGRAM_COUNT];
	double wait_shares[WAIT_CAUSES]; /* in the last second, of the reader who waited most */
	double wait_pending;   /* likewise, for a batch that is not made, so nobody knows why */
	unsigned far_datasets; /* that are open and wait for servers */
	struct auto_threads auto_threads; /* what `auto` stands for */
	uint64_t last_id; /* of sessions, readers, streams, rings, datasets: never used twice */
	struct dataset_account dataset_account; /* of datasets that are kept in memory */
	struct seek_index_budget seek_indexes;	/* of all datasets' seek indexes */
	uint64_t ring_bytes;		/* of all rings, those being made and orphans included */
	uint64_t fd_limit;		/* RLIMIT_NOFILE */
	struct folder_report index_dir; /* how it does; the index caches keep it up to date */
	struct fault cache_dir_why;	/* why cache-dir could not be had; "": it could */
	bool logged_no_fork;		/* the log knows that a fork had no memory */
	bool short_of_memory;		/* for a lease or a job: the next tick tries again */
	bool stopping;
	struct {
		uint64_t at_ns, ns; /* of workers' time (pool_spare_ns()), up to the last tick */
	} spare;
	uint64_t held_back_due_ns; /* when the first of `held_back` is to be looked at */
};

void core_init(struct core *core, struct config *config);

/* Number of threads that there shall be: as the settings say, or what auto stands for now. */
static inline unsigned core_workers(const struct core *core)
{
	return core->config->workers != CONFIG_AUTO ? core->config->workers
						    : core->auto_threads.number[AUTO_WORKERS].now;
}

unsigned core_fetchers(const struct core *core);

/* Give the pool as many threads as the settings say. Each fetcher that hangs in a read is replaced
 * by one more, so that other files can be read. 0 or a negative errno. */
int core_resize_pool(struct core *core);
/* A dataset that waits for servers was opened (1) or closed (-1). */
void core_count_far(struct core *core, int by);

uint64_t core_new_id(struct core *core);
void core_count(struct core *core, enum counter counter, int64_t by);
/* Copy into the counters what other threads count. */
void core_gather(struct core *core);
/* Condition of cache-dir. */
struct folder_report core_cache_folder(const struct core *core);
/* The limits of today's settings. */
struct decode_limits core_decode_limits(const struct core *core);

#endif
