/* SPDX-License-Identifier: MIT */
/*
 * Figures of the page, as JSON: the last minutes, who waits for whom and why, memory against its
 * budgets, bad samples. Names of jobs and paths only for who may see them. Reads state and changes
 * nothing. Loop thread.
 */
#ifndef STOKER_LOOP_WATCH_LIVE_H
#define STOKER_LOOP_WATCH_LIVE_H

#include "loop/watch/writer.h"

struct watch;

void live_write(struct writer *writer, struct watch *watch, bool names);

#endif
