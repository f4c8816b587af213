/* SPDX-License-Identifier: MIT */
/*
 * Orphans: memory of rings that have ended, which clients still hold by a descriptor or a mapping.
 * It is there until the last of them is gone, so it is charged to the ring's user until then. The
 * kernel tells by a lease (fcntl(2), F_SETLEASE) on a description of our own, which nobody else
 * has: it is refused while there is any other. Owns those descriptors. Loop thread.
 */
#ifndef STOKER_LOOP_STATE_ORPHAN_H
#define STOKER_LOOP_STATE_ORPHAN_H

#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"

struct core;
struct segment;

struct orphan {
	struct list link; /* in core->orphans */
	int fd;
	uid_t uid;
	uint64_t bytes;
};

/* The ring of this user ends: its segment is closed. What clients hold of it goes on to count. */
void orphan_leave(struct core *core, struct segment *segment, uid_t uid);
/* Each second, and before somebody is refused memory: discharge what nobody holds any more. */
void orphans_look(struct core *core);
void orphans_deinit(struct core *core);

#endif
