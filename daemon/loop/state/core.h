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
#include "loop/os/task.h"
#include "proto/message.h"

struct bad_samples;
struct fit;
struct index_caches;
struct pool;
struct job_queue;
struct statistics_store;
struct users;

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
	struct job_queue *jobs;

	struct list datasets;	 /* struct dataset_entry */
	struct list streams;	 /* struct stream */
	struct list readers;	 /* struct reader */
	struct list abandoned;	 /* struct ring without readers; jobs or leases keep it */
	struct list touched;	 /* struct ring that the next step looks at */
	struct list due;	 /* struct reader that the next step looks at */
	struct list held_back;	 /* struct reader that others keep from its next batch */
	struct list catching_up; /* struct reader that may be able to merge into a ring ahead */
	struct list index_tasks; /* struct index_task */
	struct fit *whitening;	 /* the fit that whitens: one at a time */
	unsigned attaching;	 /* attachments on their way */

	uint64_t counters[COUNTER_COUNT];
	uint64_t last_id; /* of sessions, readers, streams, rings, datasets: never used twice */
	struct dataset_account dataset_account; /* of datasets that are kept in memory */
	struct seek_index_account seek_indexes; /* of all datasets' seek indexes */
	uint64_t ring_bytes;			/* of all rings, those being made included */
	bool told_no_fork;			/* the log knows that a fork had no memory */
	bool short_of_memory; /* for a lease or a job: the next tick tries again */
	bool stopping;
	uint64_t held_back_due_ns; /* when the first of `held_back` is to be looked at */

	struct {
		uint64_t since_ns;
		unsigned lines;
	} client_log; /* see core_log_client() */
};

void core_init(struct core *core, struct config *config);

uint64_t core_new_id(struct core *core);
void core_count(struct core *core, enum counter counter, int64_t by);
/* Copy into the counters what other threads count. */
void core_gather(struct core *core);
/* The limits of today's settings. */
struct decode_limits core_decode_limits(const struct core *core);
/* Log what a client did wrong. Above a few lines a minute they are counted instead. */
void core_log_client(struct core *core, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
