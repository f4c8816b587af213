/* SPDX-License-Identifier: MIT */
/*
 * Stragglers: readers of one ring go at the pace of the slowest, for a ring's length; then the
 * others go on elsewhere (engine/migrate.c moves them). Here stands who is held back by whom, and
 * who may move where.
 *
 * Fork: the fast reader moves, because what the slow one holds is pinned where it is. A reader that
 * has had every batch that the window holds, wants another, and has been kept from it by readers of
 * other jobs goes on from the first batch that the window does not wholly hold: in a ring that
 * holds that place, or in one made for it. The readers of one job on a ring (its ranks) move
 * together, each from where it will have come to. So does a job that keeps a batch while it waits
 * for others: nothing would be released before the next batch, and that needs the kept one's slots.
 *
 * Merge: a reader that has come within half a ring of the foremost reader of a ring ahead, whose
 * window holds its next batch, goes on there. Half a ring, because from then on it holds that ring
 * too: the other half is what those ahead have left before they notice. A reader that is slow for
 * good is a ring or more behind, so nobody forks and merges in turns.
 *
 * Computes from state and changes nothing. Loop thread.
 */
#ifndef STOKER_LOOP_POLICY_STRAGGLER_H
#define STOKER_LOOP_POLICY_STRAGGLER_H

#include <stdbool.h>

#include "loop/state/reader.h"

struct cursor;
struct lease;
struct ring;
struct stream;

/* `member`: each rank of the reader's job on its ring that has not ended, itself among them. */
#define for_each_rank(member, next_member, reader)                                                 \
	list_for_each(member, next_member, &(reader)->ring->readers, struct reader, in_ring)       \
		if (straggler_same_job(reader, member) && !reader_ended(member))

bool straggler_same_job(const struct reader *reader, const struct reader *other);
/* Does it starve: has it room in flight, and had all that the window holds, and the window cannot
 * move? */
bool straggler_starves(const struct reader *reader);
/* The oldest batch of its own connection that keeps its window from moving; NULL if there is none.
 */
const struct lease *straggler_kept(const struct reader *reader);
/* Has the ring a global batch more than may be in flight? Then only batches that are kept out of
 * their order, or bad ones, can make it wait for itself. */
bool straggler_has_room(const struct reader *reader);
/* May all ranks of its job move, and is the window held by other jobs that may be left behind, or
 * by batches that its own job keeps while it waits? */
bool straggler_may_fork(const struct reader *reader);
/* The first batch that the window does not wholly hold: all before it is made or will be. */
struct cursor straggler_fork_at(const struct reader *reader);
/* Would a reader whose move.at is set get at least its first batch there? */
bool straggler_fits(const struct reader *reader, const struct ring *ring);
/* Does that hold for all ranks of its job? */
bool straggler_job_fits(const struct reader *reader, const struct ring *ring);
/* The rank of its job that is furthest behind, by move.at. */
const struct reader *straggler_hindmost(const struct reader *reader);

/* Does it go on in another ring from this batch on? */
bool straggler_leaves_at(const struct reader *reader, const struct cursor *batch);

/* Is the reader, with all ranks of its job, near enough to merge into that ring, and is the ring
 * ahead of its own? */
bool straggler_may_merge(const struct reader *reader, const struct ring *into);
/* The first half of that. */
bool straggler_job_near(const struct reader *reader, const struct ring *ring);
/* Find this user's foremost reader of a stream; NULL if none has a batch to come. */
const struct reader *straggler_leader(const struct stream *stream, uid_t uid);

#endif
