/* SPDX-License-Identifier: MIT */
/* State of the cache of objects, for the room's own files; others have its public header. */
#ifndef STOKER_STAGE_STAGE_STATE_H
#define STOKER_STAGE_STAGE_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/list.h"
#include "stage/stage_table.h"

struct stage {
	int folder; /* owned */
	struct digest_secret secret;
	_Atomic uint64_t number; /* of temporary files */
	pthread_mutex_t lock;	 /* of what follows */
	pthread_cond_t ended;
	struct stage_table table;
	struct list sets;
	struct list fetches;
	uint64_t bytes;	  /* of all files, and of those that are being written */
	uint64_t leaving; /* of these: of files that are being removed */
	struct stage_limits limits;
	uint64_t retry_ns; /* after a failure nothing is written before */
	struct stage_totals totals;
};

/* Limit of the count of entries. The lock is held. */
static inline uint64_t stage_most(const struct stage *stage)
{
	uint64_t items = stage->limits.items;
	return items && items < STAGE_ENTRIES_MAX ? items : STAGE_ENTRIES_MAX;
}

#define STAGE_PINNED_PART 2 /* of the budget, of all that is pinned */

/* May so much be pinned beside what is? The lock is held. */
bool stage_pins_fit(const struct stage *stage, uint64_t bytes, uint64_t items);
/* Write down which origins are pinned. Blocks: without the lock. */
void stage_pins_write(struct stage *stage);

#endif
