/* SPDX-License-Identifier: MIT */
/*
 * The pool: fetch threads that read samples ahead and worker threads that make them. Grows and
 * shrinks while it runs. Owns its threads and the jobs handed to it until they are taken back.
 * One lock; a queue to fetch, a queue to make, a queue of what is done. Knows no ring, no reader.
 * The door to threads: only pool.c includes <pthread.h>.
 *
 * All functions are the loop thread's. `wake` is called by pool threads whenever the queue of done
 * jobs becomes non-empty; it must be safe from any thread and must not block.
 */
#ifndef STOKER_WORK_POOL_H
#define STOKER_WORK_POOL_H

#include "work/job.h"

struct pool;

struct pool_config {
	unsigned workers, fetchers; /* 0 .. POOL_THREADS_MAX; fetchers at least 1 */
	int nice;		    /* added to the workers' niceness */
	void (*wake)(void *context);
	void *wake_context;
};

#define POOL_THREADS_MAX 1024

int pool_new(struct pool **out, const struct pool_config *config); /* 0 or negative errno */
/* Stops the threads; jobs still inside must have been cancelled and taken back. */
void pool_free(struct pool *pool);

/* Change the number of threads. Returns at once: threads over the number end after the job in
 * hand; none is lost. 0 or a negative errno (then as many run as could be started). */
int pool_resize(struct pool *pool, unsigned workers, unsigned fetchers);

void pool_submit(struct pool *pool, struct job *job); /* takes the job over */
/* Give back what is queued and not begun, of this owner (NULL: of all), as a list; with its kin,
 * whoever owns them. What threads have in hand comes back by pool_take(). */
struct job *pool_cancel(struct pool *pool, const void *owner);
struct job *pool_take(struct pool *pool); /* all that is done, as a list, oldest first */

#endif
