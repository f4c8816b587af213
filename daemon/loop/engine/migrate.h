/* SPDX-License-Identifier: MIT */
/*
 * Pace: readers of one ring go at the pace of the slowest, for a ring's length; then the others go
 * on elsewhere. Loop thread; knows no peer but to tell it of its ring.
 *
 * Fork: it is the fast one that moves, for what the slow one holds is pinned where it is. A reader
 * that has had every batch that the window holds, wants another, and has been kept from it by
 * another crew for longer than a hiccup (at once with pace free) goes on from the first batch that
 * the window does not wholly hold: in a ring that holds that place, or in one made for it. A crew
 * (the readers of one job) moves as one, each member from where it will have come to.
 *
 * Merge: a reader that has come within half a ring of the foremost reader of a ring ahead, whose
 * window holds its next batch, goes on there. Half a ring, because from then on it holds that one
 * too: the other half is what those ahead have left before they notice. A reader that is slow for
 * good is a ring or more behind, so that nobody is forked and merged in turns.
 */
#ifndef STOKER_LOOP_ENGINE_MIGRATE_H
#define STOKER_LOOP_ENGINE_MIGRATE_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/list.h"

struct cursor;
struct reader;
struct ring;
struct server;
struct stream;

struct pace {
	uv_timer_t timer;    /* when the next of `starved` is due */
	struct list starved; /* readers that others keep from their next batch */
	struct list due;     /* readers that came on: is there a ring to merge into? */
	bool told_budget;    /* the log knows that a fork had no room */
};

int pace_init(struct server *server); /* 0 or a negative errno */

void pace_look(struct reader *reader);	/* it wants a batch: do others keep it from it? */
void pace_fed(struct reader *reader);	/* a batch was announced; it may be at its move */
void pace_leave(struct reader *reader); /* it goes away, or has ended */
void pace_merge(struct server *server); /* those who came on, where they can */
/* The ring stands, or could not be made: those who were to go on in it do, or stay. */
void pace_ring_made(struct ring *ring);

/* The foremost reader of a stream; NULL if nobody has a batch to come. */
const struct reader *pace_leader(const struct stream *stream);
/* Does the reader go on in another ring from this batch on? */
bool pace_leaves_at(const struct reader *reader, const struct cursor *batch);
/* The place that a comer holds in the ring it moves to; UINT64_MAX while that is not made. */
uint64_t pace_place(const struct reader *comer);

#endif
