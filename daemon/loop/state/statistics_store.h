/* SPDX-License-Identifier: MIT */
/*
 * Statistics store: the results of FITs (statistics/statistics.h) that the daemon has. A few of
 * each user stay in memory, found by their dataset's fingerprint and their name, or by their
 * digest. With an index store (index-dir) they are on the disk as well and come back when the user
 * opens the dataset. A user finds the own ones first, then those of all, which the daemon's own
 * user and root make; what others make is not found, nor does it take their room.
 *
 * Loop thread, but for statistics_store_read().
 */
#ifndef STOKER_LOOP_STATE_STATISTICS_STORE_H
#define STOKER_LOOP_STATE_STATISTICS_STORE_H

#include <sys/types.h>

#include "base/fault.h"

struct dataset;
struct digest;
struct index_store;
struct pipeline;
struct statistics;

struct statistics_store {
	struct statistics *first; /* the newest */
	struct index_store *disk; /* borrowed; NULL: nothing outlives the daemon */
};

enum {
	STATISTICS_STORE_E_MISSING = 1, /* the words say how to make them */
};

void statistics_store_init(struct statistics_store *store, struct index_store *disk);
void statistics_store_deinit(struct statistics_store *store);

/* Give a settled pipeline the statistics that it names. 0 (also if it names none), a condition or
 * -ENOMEM. */
int statistics_store_apply(const struct statistics_store *store, uid_t uid,
			   const struct dataset *dataset, struct pipeline *pipeline,
			   struct fault *fault);
/* Take over one hold of these: they replace their owner's of the same dataset and name. */
void statistics_store_put(struct statistics_store *store, struct statistics *statistics);
/* Any thread: read what is on the disk of a user's dataset, as a list. Then, on the loop thread,
 * take the list over: what is in memory already is newer and stays. */
void statistics_store_read(const struct statistics_store *store, uid_t uid,
			   const struct digest *fingerprint, struct statistics **out);
void statistics_store_add_read(struct statistics_store *store, struct statistics *list);

#endif
