/* SPDX-License-Identifier: MIT */
/*
 * Producing: free slots and wanted positions become jobs of the pool, finished jobs become READY
 * slots. Only what some attached reader will get is made; which reader orders next is the
 * scheduler's choice. Few jobs are in the pool at a time, so that a newcomer is served soon. Loop
 * thread; called by the step.
 */
#ifndef STOKER_LOOP_ENGINE_PRODUCE_H
#define STOKER_LOOP_ENGINE_PRODUCE_H

struct core;
struct ring;

/* Take back what the pool has finished. */
void produce_take_finished(struct core *core);
/* Cancel the jobs that nobody has begun and no reader of this ring wants any more. */
void produce_cancel(struct ring *ring);
/* Order as much as the pool should hold. */
void produce_order(struct core *core);
/* Tell the pool how many jobs have to be done before it is worth waking the loop. */
void produce_set_wakeup(struct core *core);

#endif
