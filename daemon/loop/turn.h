/* SPDX-License-Identifier: MIT */
/*
 * Whose turn it is to order a sample. Streams with hungry readers stand in a line and share the
 * pool's time by weight: each has a virtual clock that its samples' time moves on, divided by its
 * weight, and the one furthest behind is next; first of those with a reader that waits. Who was
 * away saves nothing up. Within a stream the ring furthest behind comes first, so that rings meet,
 * with a part of the turns for the others; within a ring the reader with the least lead.
 *
 * Owns the line; walks only readers with something to order. Loop thread; knows no job, no slot.
 */
#ifndef STOKER_LOOP_TURN_H
#define STOKER_LOOP_TURN_H

#include <stdint.h>

#include "base/list.h"

struct reader;
struct server;

/* A stream's place in the line. */
struct turn {
	struct list in_line;   /* in server->hungry; empty: none of its readers is hungry */
	struct list hungry;    /* struct reader, those that had a turn last at the end */
	uint64_t virtual_time; /* thread time it had, in ns at weight 100 */
	uint64_t cost_ns;      /* of a sample: moving average */
	unsigned weight;       /* at its last turn */
	unsigned count;	       /* turns so far */
};

#define TURN_WEIGHT 10 /* of who does not say */

void turn_init(struct turn *turn);
void turn_deinit(struct turn *turn); /* its readers are gone */

void turn_enter(struct reader *reader);		 /* it may have samples to order */
void turn_leave(struct reader *reader);		 /* it has none, or is gone */
struct reader *turn_next(struct server *server); /* NULL if nobody is hungry */

/* A sample was ordered in the turn of this reader; it came back after so much work; or was taken
 * back before there was any. */
void turn_charge(struct reader *reader);
void turn_settle(struct turn *turn, uint64_t work_ns);
void turn_refund(struct turn *turn);

#endif
