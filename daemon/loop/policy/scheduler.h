/* SPDX-License-Identifier: MIT */
/*
 * Whose turn it is to order a sample. Users with hungry readers stand in a line and share the
 * pool's time evenly, and each one's streams share its part by weight: all have virtual clocks that
 * their samples' time moves on, a stream's divided by its weight, and the user furthest behind is
 * next with its stream furthest behind; first of those with a reader that waits. Who was away, or
 * at the limit of what a user may have queued, saves nothing up, and nobody much: who had all that
 * it wanted, or was made for by its kin, would else keep all others waiting. Of a user's rings of a
 * stream the one furthest behind has half of the turns, so that rings meet, and all others the
 * rest: in turn, and every second time the reader that has waited longest. Within a ring readers
 * take turns.
 *
 * Owns the line; walks only readers with something to order. Loop thread; knows no job, no slot.
 */
#ifndef STOKER_LOOP_POLICY_SCHEDULER_H
#define STOKER_LOOP_POLICY_SCHEDULER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"

struct reader;
struct server;
struct user;

/* A stream's place in the line of one user; its readers and what is queued for them hold it. */
struct turn {
	struct user *user;
	uint64_t stream;       /* its number: it may be gone before what was queued is back */
	struct list link;      /* in user->turns */
	struct list in_line;   /* in user->hungry; empty: none of its readers is hungry */
	struct list hungry;    /* struct reader, those that had a turn last at the end */
	uint64_t virtual_time; /* thread time it had, in ns at weight 100 */
	uint64_t cost_ns;      /* of a sample: moving average */
	unsigned weight;       /* at its last turn */
	unsigned count;	       /* turns so far */
	unsigned readers, queued;
};

#define TURN_WEIGHT 10 /* of who does not say */

/* The place of this user's readers of this stream, found or made, for one more reader. 0 or
 * -ENOMEM. */
int turn_get(struct turn **out, struct server *server, uid_t uid, uint64_t stream);
void turn_put(struct turn *turn); /* one of them is gone */

void turn_enter(struct reader *reader);		 /* it may have samples to order */
void turn_leave(struct reader *reader);		 /* it has none, or is gone */
struct reader *turn_next(struct server *server); /* NULL: nobody hungry may order */

/* A sample was ordered in this turn; it came back after so much work; or was taken back before
 * there was any. */
void turn_charge(struct turn *turn);
void turn_settle(struct turn *turn, uint64_t work_ns);
void turn_refund(struct turn *turn);

#endif
