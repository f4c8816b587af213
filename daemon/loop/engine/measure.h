/* SPDX-License-Identifier: MIT */
/* Keeps the wait times and rates of readers and streams. Loop thread. */
#ifndef STOKER_LOOP_ENGINE_MEASURE_H
#define STOKER_LOOP_ENGINE_MEASURE_H

struct core;
struct reader;

/* Something of what this reader waits for may have changed. */
void measure_wait(struct reader *reader);
/* So many seconds went by since the last tick. */
void measure_tick(struct core *core, double seconds);

#endif
