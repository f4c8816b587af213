/* SPDX-License-Identifier: MIT */
/*
 * Ring growth: when a lean ring is too small (ring_plan.h makes them so for a lone trainer). That
 * is when others join it, or read a stream that shares its decodes; when the trainer holds all of
 * it, also of a ring that is small for another reason (`prefetch`); or when the trainer waits for
 * batches while workers idle, since they have no slot to fill.
 * Computes from state and changes nothing. Loop thread.
 */
#ifndef STOKER_LOOP_POLICY_RING_GROWTH_H
#define STOKER_LOOP_POLICY_RING_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

#include "loop/state/reader.h"

/* Do others read it, or streams that share its decodes, or this stream in a ring whose epochs are
 * elsewhere? */
bool ring_growth_crowded(const struct ring *ring);
/* Has the reader, which is held back since `since_ns`, held all of its ring for too long? Not while
 * it rests: a batch that it has not received yet it does not hold. */
bool ring_growth_held(const struct reader *reader, uint64_t now_ns);
/* Would a larger ring have helped in this second? `spare`: the part of their time that workers
 * slept, since there was no slot to fill. Not if this ring, which is larger than the one before,
 * did not help. */
bool ring_growth_short(const struct reader *reader, double spare);
/* So many seconds in a row it has to be so. */
#define RING_GROWTH_SECONDS 3
/* May it move to a larger ring now? */
bool ring_growth_may_move(const struct reader *reader);
/* Find the reader furthest behind of those that may move, their places set (move.at); NULL: none.
 */
const struct reader *ring_growth_hindmost(const struct ring *ring);
/* Do all of those fit there? */
bool ring_growth_fits(const struct ring *ring, const struct ring *larger);

#endif
