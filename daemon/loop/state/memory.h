/* SPDX-License-Identifier: MIT */
/*
 * What the datasets and fits of each user hold in memory: an account a user, for as long as
 * somebody charges it, as a part of what all of them may hold. Loop thread; tasks charge.
 */
#ifndef STOKER_LOOP_STATE_MEMORY_H
#define STOKER_LOOP_STATE_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "dataset/account.h"

struct core;

struct memory {
	struct list link; /* in core->memories */
	uid_t uid;
	unsigned held;
	struct dataset_account account;
};

/* The user's, found or made, held once more; it may hold `limit` bytes from now on. NULL: there is
 * no memory. */
struct memory *memory_get(struct core *core, uid_t uid, uint64_t limit);
void memory_put(struct memory *memory); /* NULL is none */

#endif
