/* SPDX-License-Identifier: MIT */
/*
 * Room on the disk: how much there is, and what leaves for want of it (which one, see
 * stage_victim.h). What leaves is taken out of the table with the lock held, and its files are
 * removed without it; its bytes are charged until then. Any thread. Writes nothing but that.
 */
#ifndef STOKER_STAGE_STAGE_ROOM_H
#define STOKER_STAGE_STAGE_ROOM_H

#include "stage/stage_file.h"
#include "stage/stage_victim.h"

/* For one item, or between two looks at the free space. */
#define STAGE_LEAVERS_MAX 32

/* Entries that were taken out of the table, whose files are to go. */
struct stage_leavers {
	struct stage_file file[STAGE_LEAVERS_MAX];
	unsigned count;
	uint64_t bytes;
};

struct stage_file stage_file_of(const struct stage_entry *entry);

/* Bytes of the file system beyond what stays free. Blocks: without the lock. */
uint64_t stage_room(const struct stage *stage, uint64_t spare);
/* The lock is held. */
void stage_take_out(struct stage *stage, struct stage_entry *entry, struct stage_leavers *leavers);
/* Make room for an item: what gives way is taken out. False: it is not kept, or with
 * STAGE_LEAVERS_MAX leavers not yet. The lock is held. */
bool stage_make_room(struct stage *stage, const struct stage_asker *asker,
		     struct stage_leavers *leavers, uint64_t now_ns);
/* Blocks: without the lock. */
void stage_leave(struct stage *stage, const struct stage_leavers *leavers);

#endif
