/* SPDX-License-Identifier: MIT */
/*
 * Delivering: a reader that has room in flight and a batch whose slots are all made gets a BATCH
 * message, and the slots a pin each; a batch with a bad sample becomes a BAD_SAMPLE message. Loop
 * thread.
 */
#ifndef STOKER_LOOP_ENGINE_DELIVER_H
#define STOKER_LOOP_ENGINE_DELIVER_H

#include <stdint.h>

struct reader;
struct ring;
struct server;

void deliver(struct reader *reader);			    /* announce what can be */
void deliver_slot(struct ring *ring, uint32_t slot_number); /* this slot is made */

/* Try again what there was no memory for; with each tick, since nothing else may ever move it. */
void deliver_again(struct server *server);

/* Samples that have to be made before this reader can be told of anything; UINT64_MAX: it is not
 * for want of samples. */
uint64_t deliver_missing(const struct reader *reader);

#endif
