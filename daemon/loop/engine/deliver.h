/* SPDX-License-Identifier: MIT */
/*
 * Delivering: a reader that has room in flight and a batch whose slots are all made gets a BATCH
 * message, and a lease pins the slots; a batch with a bad sample becomes a BAD_SAMPLE message. Loop
 * thread; called by the step.
 */
#ifndef STOKER_LOOP_ENGINE_DELIVER_H
#define STOKER_LOOP_ENGINE_DELIVER_H

#include <stdint.h>

#include "loop/meter/wait_time.h"

struct core;
struct reader;
struct ring;

/* Announce to a reader what can be announced. */
void deliver(struct reader *reader);
/* Note that this slot is made: touch the readers whose next batch it may complete. `made` says when
 * its job was ordered and its bytes were there. */
void deliver_slot_made(struct ring *ring, uint32_t slot_number, const struct wait_sample *made);

/* Try again what there was no memory for: with each tick, because nothing else may ever move it. */
void deliver_retry(struct core *core);

/* Samples that have to be made before this reader can be told of anything; UINT64_MAX: it does not
 * wait for samples. */
uint64_t deliver_missing(const struct reader *reader);

#endif
