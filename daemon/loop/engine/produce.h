/* SPDX-License-Identifier: MIT */
/*
 * Producing: free slots and wanted positions become jobs, finished jobs become READY slots. What is
 * made is what some attached reader will get; who orders next is turn.h's business. Few jobs are
 * out at a time, so that a newcomer's need is seen soon. Loop thread; knows no peer and no message.
 */
#ifndef STOKER_LOOP_ENGINE_PRODUCE_H
#define STOKER_LOOP_ENGINE_PRODUCE_H

struct reader;
struct ring;
struct server;

void produce_init(struct server *server);
void produce_hungry(struct reader *reader);  /* it may have samples to order */
void produce_unblock(struct ring *ring);     /* its window may be able to move ... */
void produce_unblock_kin(struct ring *ring); /* ... which its kin may wait for */
/* After all that changes what a reader waits for: order as much as the pool should hold. */
void produce(struct server *server);
void produce_done(struct server *server);   /* take back what the pool has finished */
void produce_cancel(struct ring *ring);	    /* what is not begun and no reader wants */
void produce_deinit(struct server *server); /* free the spare jobs; the pool is empty */

#endif
