/* SPDX-License-Identifier: MIT */
/*
 * Accounts of the memory that the datasets and fits of each user hold, and the seek indexes of
 * those whose user was the first: an account a user, for as long as somebody charges it, as a part
 * of what all of them may hold. Loop thread; tasks and workers charge.
 */
#ifndef STOKER_LOOP_STATE_MEMORY_H
#define STOKER_LOOP_STATE_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "dataset/account.h"
#include "decode/jpeg/seek_index_set.h"

struct core;

struct memory {
	struct list link; /* in core->memories */
	uid_t uid;
	unsigned held;
	struct dataset_account account;
	struct seek_index_share indexes;
};

/* Limits of dataset-memory and of index-memory. */
struct memory_limits {
	uint64_t datasets, indexes;
};

/* The user's, found or made, held once more; it may hold so many bytes from now on. NULL: there is
 * no memory. */
struct memory *memory_get(struct core *core, uid_t uid, struct memory_limits limits);
struct memory *memory_hold(struct memory *memory);
void memory_put(struct memory *memory); /* NULL is none */

#endif
