/* SPDX-License-Identifier: MIT */
/*
 * Wakes readers that stopped ordering samples: they become runnable for the scheduler again. A
 * reader stops when its next sample is beyond what its ring can hold (slot wait), when it waits for
 * streams that share its decodes, or for want of memory. Loop thread.
 */
#ifndef STOKER_LOOP_ENGINE_WAKE_H
#define STOKER_LOOP_ENGINE_WAKE_H

struct reader;
struct ring;

void wake_reader(struct reader *reader);
/* The ring's window may be able to move: wake its readers in slot wait, if the floor has come to
 * where that helps one of them, and those of rings that share decodes with it. */
void wake_ring(struct ring *ring);

#endif
