/* SPDX-License-Identifier: MIT */
/*
 * Scheduler: picks the reader that may order the next sample. Two-level start-time fair queueing
 * over worker time: users share it evenly, a user's flows (streams) by weight. The lowest virtual
 * clock goes first, and whoever waits for a batch goes before who only prefetches.
 *
 * Within a flow the ring furthest behind gets every second pick: what it makes others have made
 * before, so the sooner it reaches them the less is made twice. The other picks go to the flow's
 * other rings in turn, and every second of these to the reader that has waited longest for a batch,
 * because a large batch needs many picks. Readers of one ring take turns.
 *
 * Computes from the clocks of state/user.h and changes nothing. Loop thread; knows no job, no slot.
 */
#ifndef STOKER_LOOP_POLICY_SCHEDULER_H
#define STOKER_LOOP_POLICY_SCHEDULER_H

struct reader;
struct users;

/* Right after users_refresh(). NULL: no runnable reader may order now. */
struct reader *scheduler_pick(const struct users *users, unsigned queued_max);

#endif
