/* SPDX-License-Identifier: MIT */
/*
 * A crew: some threads that do numbered pieces of work, in the order of their numbers, for one who
 * waits. For work that mostly waits for somebody else, such as a server. Owns its threads, which
 * receive no signals. Its owner is one thread; it stops the crew before it stops waiting.
 */
#ifndef STOKER_BASE_CREW_H
#define STOKER_BASE_CREW_H

#include <stdint.h>

struct crew;

/* Number 0 is begun first; several run at a time. */
typedef void crew_work(void *context, uint64_t number);

/* Begin with numbers below `count`. At least one thread is there, or it is a negative errno. */
int crew_begin(struct crew **out, unsigned threads, uint64_t count, crew_work *work, void *context);
/* No further number begins from now on. */
void crew_stop(struct crew *crew);
/* Wait until all that began has ended; NULL will do. */
void crew_end(struct crew *crew);

#endif
