// SPDX-License-Identifier: MIT
#include "loop/state/memory.h"

#include <assert.h>
#include <stdlib.h>

#include "loop/state/core.h"

static struct memory *memory_find(struct core *core, uid_t uid)
{
	list_for_each(memory, next, &core->memories, struct memory, link)
		if (memory->uid == uid)
			return memory;
	struct memory *memory = calloc(1, sizeof(*memory));
	if (!memory)
		return NULL;
	memory->uid = uid;
	memory->account.parent = &core->dataset_account;
	list_append(&core->memories, &memory->link);
	return memory;
}

struct memory *memory_get(struct core *core, uid_t uid, struct memory_limits limits)
{
	struct memory *memory = memory_find(core, uid);
	if (!memory)
		return NULL;
	atomic_store(&memory->account.limit, limits.datasets);
	atomic_store(&memory->indexes.limit, limits.indexes);
	return memory_hold(memory);
}

struct memory *memory_hold(struct memory *memory)
{
	memory->held++;
	return memory;
}

void memory_put(struct memory *memory)
{
	if (!memory || --memory->held > 0)
		return;
	assert(atomic_load(&memory->account.bytes) == 0 &&
	       atomic_load(&memory->indexes.bytes) == 0);
	list_remove(&memory->link);
	free(memory);
}
