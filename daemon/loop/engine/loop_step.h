/* SPDX-License-Identifier: MIT */
/*
 * The step: what every iteration of the loop ends with, before it sleeps. Whatever happened in this
 * iteration (a message, a finished job, a ring that was made, a client that left, a timer), units
 * only note it; here its consequences are drawn, in one order and in one place:
 *
 *   1. finished jobs fill slots
 *   2. touched rings: tell who waited, cancel what nobody wants, wake readers, free what is unused
 *   3. touched readers: announce batches
 *   4. readers that caught up merge
 *   5. readers that were held back for too long fork     (2 to 5 again, until nothing is touched)
 *   6. the pool is filled with the next samples
 *
 * Loop thread.
 */
#ifndef STOKER_LOOP_ENGINE_LOOP_STEP_H
#define STOKER_LOOP_ENGINE_LOOP_STEP_H

#include <stdbool.h>

struct core;

void loop_step(struct core *core);
/* Point 2 alone: before an ATTACH, so that memory and datasets of readers that have just left are
 * free, and files are seen as they are now. */
void loop_step_rings(struct core *core);
/* Are all readers gone, and all attachments on their way? Connections that never attached, and
 * those of stokerctl, are no reason to wait when the daemon stops. */
bool loop_step_is_drained(const struct core *core);

#endif
