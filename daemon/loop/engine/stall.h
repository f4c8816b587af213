/* SPDX-License-Identifier: MIT */
/*
 * Reads that hang, as on a dead mount: looked for once a second, counted, logged; and each reader
 * whose next batch has such a sample is told the file's name, once a batch. What to do for the
 * other readers is the caller's business. Tasks that hang (os/task.h) are counted and logged, too.
 * A reader whose next batch waits for one that it keeps is told which. Loop thread.
 */
#ifndef STOKER_LOOP_ENGINE_STALL_H
#define STOKER_LOOP_ENGINE_STALL_H

#include <stdbool.h>

#define STALL_NS 5000000000u /* a read that takes longer may never end */

struct core;
struct reader;

/* True if the number of reads that hang has changed: the pool needs more or fewer fetchers. */
bool stall_look(struct core *core);
/* A reader that starves (policy/straggler.h) and cannot go on elsewhere: name the batch that it
 * holds and that is in its way, if there is one, once for each. */
void stall_tell_kept(struct reader *reader);

#endif
