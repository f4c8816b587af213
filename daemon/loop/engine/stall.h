/* SPDX-License-Identifier: MIT */
/*
 * Reads that hang, as on a dead mount: looked for once a second, counted, said in the log; and each
 * reader whose next batch has such a sample is told, once a batch, with the file's name. What to do
 * for others meanwhile is the caller's. Loop thread.
 */
#ifndef STOKER_LOOP_ENGINE_STALL_H
#define STOKER_LOOP_ENGINE_STALL_H

#include <stdbool.h>

#define STALL_NS 5000000000u /* a read that takes longer may never end */

struct server;

/* True if other than before hang, so that the server needs more or fewer fetchers. */
bool stall_look(struct server *server);

#endif
