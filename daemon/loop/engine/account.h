/* SPDX-License-Identifier: MIT */
/* Keeps the wait times and rates of readers and streams. Loop thread. */
#ifndef STOKER_LOOP_ENGINE_ACCOUNT_H
#define STOKER_LOOP_ENGINE_ACCOUNT_H

struct core;
struct reader;

/* Something of what this reader waits for may have changed. */
void account_wait(struct reader *reader);
/* So many seconds went by since the last tick. */
void account_tick(struct core *core, double seconds);

#endif
