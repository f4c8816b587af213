/* SPDX-License-Identifier: MIT */
/*
 * The pool: fetch threads that read samples ahead and worker threads that make them. Grows and
 * shrinks while it runs. Owns its threads, and jobs from pool_submit() until they are taken back.
 * Knows no ring and no reader. Other threads: loop/os/task.h, base/thread_group.h.
 *
 * Two queues, of jobs to fetch and of jobs to make, under one lock. A worker takes several small
 * jobs at once, see parcel.h. Finished jobs go to a lock-free list; the loop is woken when there
 * are enough of them, see pool_wake_at(). A thread is signalled only if it sleeps.
 *
 * All functions are for the loop thread. Pool threads call `wake`, too: it must be safe from any
 * thread and must not block.
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
	const cpu_set_t *cpus;	    /* affinity of all threads; borrowed; NULL: the caller's */
	size_t cpus_bytes;
	void (*wake)(void *context);
	void *wake_context;
};

#define POOL_THREADS_MAX 1024

int pool_new(struct pool **out, const struct pool_config *config); /* 0 or negative errno */
/* Stops the threads. All jobs must have been cancelled or taken back. */
void pool_free(struct pool *pool);

/* Change the number of threads. Returns at once: threads above it finish the jobs that they have
 * and then end. 0 or a negative errno (then as many run as could be started). */
int pool_resize(struct pool *pool, unsigned workers, unsigned fetchers);

/* Count the fetchers in a read that has taken longer than this. `found` is called, without the
 * lock, for the job of each; it may look at the inputs of the job and of its chain. */
typedef void pool_found(void *context, const struct job *job, uint64_t read_ns);
unsigned pool_stuck(struct pool *pool, uint64_t limit_ns, pool_found *found, void *context);

void pool_submit(struct pool *pool, struct job *list); /* the jobs become the pool's */
/* Say whether there is nothing more to submit until a reader takes something: then workers without
 * a job have time to spare, which is not so if only the loop is late. What they sleep then they may
 * use later, up to a second each, since a trainer's next batch brings many jobs at once. */
void pool_set_sated(struct pool *pool, bool sated);
/* For how long workers slept in all while that was so; a sleep counts when it ends. */
uint64_t pool_spare_ns(struct pool *pool);
/* Give back, as a list, the queued chains in which a job is of this owner (NULL: all chains). Jobs
 * that threads have begun, or have in a parcel, come back by pool_take(). */
struct job *pool_cancel(struct pool *pool, const void *owner);
struct job *pool_take(struct pool *pool); /* all finished jobs, as a list, oldest first */

/* Call `wake` when this many jobs, 1 or more, are finished and not taken yet. */
void pool_wake_at(struct pool *pool, unsigned jobs);

#endif
