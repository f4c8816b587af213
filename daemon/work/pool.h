/* SPDX-License-Identifier: MIT */
/*
 * The pool: fetch threads that read samples ahead and worker threads that make them. Grows and
 * shrinks while it runs. Owns its threads and the jobs handed to it until they are taken back.
 * Knows no ring, no reader. The door to threads: only pool.c includes <pthread.h>.
 *
 * One lock, for a queue to fetch and a queue to make; of what costs little a worker takes a parcel
 * at a time, see parcel.h. What is done can be taken back at once, without the lock; the loop is
 * told of it when that is worth its while, see pool_wait(). A thread is woken only if it sleeps.
 *
 * All functions are the loop thread's. `wake` is called by pool threads too; it must be safe from
 * any thread and must not block.
 */
#ifndef STOKER_WORK_POOL_H
#define STOKER_WORK_POOL_H

#include <sched.h>
#include <stddef.h>

#include "work/job.h"

struct pool;

struct pool_config {
	unsigned workers, fetchers; /* 0 .. POOL_THREADS_MAX; fetchers at least 1 */
	int nice;		    /* added to the workers' niceness */
	const cpu_set_t *cpus;	    /* where all run; borrowed; NULL: as the caller */
	size_t cpus_bytes;
	void (*wake)(void *context);
	void *wake_context;
};

#define POOL_THREADS_MAX 1024

int pool_new(struct pool **out, const struct pool_config *config); /* 0 or negative errno */
/* Stops the threads; jobs still inside must have been cancelled and taken back. */
void pool_free(struct pool *pool);

/* Change the number of threads. Returns at once: threads over the number end after the jobs in
 * hand; none is lost. 0 or a negative errno (then as many run as could be started). */
int pool_resize(struct pool *pool, unsigned workers, unsigned fetchers);

/* How many fetchers are in a read that has taken longer than this. `found` is called, without a
 * lock, for the job of each: its sample, owners, slots and kin may be looked at. */
typedef void pool_found(void *context, const struct job *job, uint64_t read_ns);
unsigned pool_stuck(struct pool *pool, uint64_t limit_ns, pool_found *found, void *context);

void pool_submit(struct pool *pool, struct job *list); /* takes the jobs over */
/* Give back what is queued and not begun, of this owner (NULL: of all), as a list; with its kin,
 * whoever owns them. What threads have in hand or in a parcel comes back by pool_take(). */
struct job *pool_cancel(struct pool *pool, const void *owner);
struct job *pool_take(struct pool *pool); /* all that is done, as a list, oldest first */

/* Wake the loop when so many more jobs are done than it has taken: 1 or more. */
void pool_wait(struct pool *pool, unsigned jobs);

#endif
