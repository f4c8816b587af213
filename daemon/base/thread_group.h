/* SPDX-License-Identifier: MIT */
/*
 * Thread group: some threads that do numbered pieces of work, in the order of their numbers, for
 * one caller that waits. For work that mostly waits for something else, such as a server. Owns its
 * threads, which receive no signals. Its owner is one thread; it stops the group before it stops
 * waiting.
 */
#ifndef STOKER_BASE_THREAD_GROUP_H
#define STOKER_BASE_THREAD_GROUP_H

#include <stdint.h>

struct thread_group;

/* Number 0 is begun first; several run at a time. */
typedef void thread_group_work(void *context, uint64_t number);

/* Begin with numbers below `count`. At least one thread is there, or it is a negative errno. */
int thread_group_begin(struct thread_group **out, unsigned threads, uint64_t count,
		       thread_group_work *work, void *context);
/* No further number begins from now on. */
void thread_group_stop(struct thread_group *group);
/* Wait until all that began has ended; NULL will do. */
void thread_group_end(struct thread_group *group);

#endif
