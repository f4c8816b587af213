/* SPDX-License-Identifier: MIT */
/*
 * A user: who connected (SO_PEERCRED), as far as it shares the workers with others. All weigh
 * alike, however many streams they read. Its streams' places in the line (turn.h) hold it, the last
 * of them frees it. Loop thread; knows no job.
 */
#ifndef STOKER_LOOP_STATE_USER_H
#define STOKER_LOOP_STATE_USER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"

struct server;

struct user {
	uid_t uid;
	struct list link;      /* in server->users */
	struct list turns;     /* struct turn, one for each stream */
	struct list in_line;   /* in server->hungry; empty: none of its readers is hungry */
	struct list hungry;    /* struct turn, those with hungry readers ... */
	uint64_t turns_time;   /* ... the furthest one of them had a turn at */
	uint64_t virtual_time; /* thread time it had, in ns */
	unsigned queued;       /* samples ordered in its turns and not back */
};

/* The user of this uid, found or made; NULL: no memory. */
struct user *user_get(struct server *server, uid_t uid);
/* One of its turns is gone, or was not to be had. */
void user_put(struct user *user);

/* Has it as much queued as one user may? */
bool user_full(const struct server *server, const struct user *user);

#endif
