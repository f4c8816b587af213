// SPDX-License-Identifier: MIT
#include "work/pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "work/parcel.h"
#include "work/sample.h"

#define PARCEL_NS 300000 /* work that is worth taking the lock */

#define SAVED_NS UINT64_C(1000000000) /* spare time, for each worker, that is kept for later */

struct queue {
	struct job *first, **end;
	unsigned count;
};

static void queue_init(struct queue *queue)
{
	queue->first = NULL;
	queue->end = &queue->first;
	queue->count = 0;
}

static void queue_push(struct queue *queue, struct job *job)
{
	job->next = NULL;
	*queue->end = job;
	queue->end = &job->next;
	queue->count++;
}

static struct job *queue_pop(struct queue *queue)
{
	struct job *job = queue->first;
	if (!job)
		return NULL;
	queue->first = job->next;
	if (!queue->first)
		queue->end = &queue->first;
	job->next = NULL;
	queue->count--;
	return job;
}

/* Move the chains with a job of `owner` (NULL: all chains) from `queue` to the end of `to`. */
static void queue_move(struct queue *queue, const void *owner, struct queue *to)
{
	struct job *job = queue->first;
	queue_init(queue);
	while (job) {
		struct job *next = job->next;
		queue_push(!owner || job_is_of(job, owner) ? to : queue, job);
		job = next;
	}
}

enum role { ROLE_FETCHER, ROLE_WORKER, ROLE_COUNT };

/*
 *   IDLE -> RUNNING -> ENDED -> IDLE
 *        start      over the wanted number,   joined by the loop thread
 *                   decided under the lock
 */
enum thread_state { THREAD_IDLE, THREAD_RUNNING, THREAD_ENDED };

struct thread {
	struct pool *pool;
	enum role role;
	unsigned number; /* it ends once `number` threads or fewer of its role are wanted */
	enum thread_state state;
	pthread_t handle;
	struct sample_kit kit;	 /* of a worker */
	struct parcel parcel;	 /* of a worker; others may claim jobs from it */
	const struct job *reads; /* of a fetcher: the job that it reads for, or NULL ... */
	uint64_t reads_since_ns; /* ... since when; both under the pool's lock */
};

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t work[ROLE_COUNT]; /* there is a job, or a thread shall end */
	struct queue todo[ROLE_COUNT];
	unsigned wanted[ROLE_COUNT], asleep[ROLE_COUNT];
	unsigned most[ROLE_COUNT];	    /* the largest number that was ever wanted */
	struct thread *threads[ROLE_COUNT]; /* POOL_THREADS_MAX of each; [i].number == i */
	struct pool_config config;

	atomic_bool sated;	    /* the loop has no more to submit for now */
	uint64_t spare_ns;	    /* workers slept for so long in all while pool_is_idle() ... */
	uint64_t saved_ns;	    /* ... and have not used so much of it */
	_Atomic(struct job *) done; /* newest first */
	atomic_uint untaken;	    /* jobs that were finished since the loop took them */
	atomic_uint wake_threshold; /* the loop is woken when there are this many */
};

static void pool_finish(struct pool *pool, struct job *job)
{
	job->next = atomic_load(&pool->done);
	while (!atomic_compare_exchange_weak(&pool->done, &job->next, job))
		;
	if (atomic_fetch_add(&pool->untaken, 1) + 1 >= atomic_load(&pool->wake_threshold))
		pool->config.wake(pool->config.wake_context);
}

/* --- with the lock held --- */

/* Wake one sleeping thread, if there is one. It wakes the next one if there are more jobs. */
static void pool_wake_thread(struct pool *pool, enum role role)
{
	if (pool->asleep[role])
		pthread_cond_signal(&pool->work[role]);
}

/* As many jobs as are worth taking the lock, but not more than this thread's share of them. */
static struct job *worker_take_parcel(struct thread *thread)
{
	struct pool *pool = thread->pool;
	struct queue *queue = &pool->todo[ROLE_WORKER];
	struct job *jobs[PARCEL_MAX], *first = queue_pop(queue);
	unsigned count = 0, share = queue->count / (pool->wanted[ROLE_WORKER] + 1);
	uint64_t cost_ns = first && first->cost_ns ? first->cost_ns : PARCEL_NS;
	while (count < share && count < PARCEL_MAX) {
		cost_ns += queue->first->cost_ns ? queue->first->cost_ns : PARCEL_NS;
		if (cost_ns > PARCEL_NS)
			break;
		jobs[count++] = queue_pop(queue);
	}
	if (count)
		parcel_fill(&thread->parcel, jobs, count);
	if (count || queue->count)
		pool_wake_thread(pool, ROLE_WORKER);
	return first;
}

static struct job *worker_take_from_others(struct thread *thread)
{
	struct pool *pool = thread->pool;
	struct job *job = NULL;
	for (unsigned i = 0; i < pool->most[ROLE_WORKER] && !job; i++)
		job = parcel_claim(&pool->threads[ROLE_WORKER][i].parcel);
	if (job)
		pool_wake_thread(pool, ROLE_WORKER);
	return job;
}

static struct job *worker_take(struct thread *thread)
{
	struct job *job = worker_take_parcel(thread);
	return job ? job : worker_take_from_others(thread);
}

static struct job *fetcher_take(struct thread *thread)
{
	struct pool *pool = thread->pool;
	struct job *job = queue_pop(&pool->todo[ROLE_FETCHER]);
	if (pool->todo[ROLE_FETCHER].first) /* this thread may wait for storage */
		pool_wake_thread(pool, ROLE_FETCHER);
	return job;
}

/* Is there nothing to do but what the workers have in hand, and not because the loop is late? Then
 * the rings are full, or nobody reads. */
static bool pool_is_idle(const struct pool *pool)
{
	return atomic_load(&pool->sated) && !pool->todo[ROLE_FETCHER].first &&
	       !pool->todo[ROLE_WORKER].first &&
	       pool->asleep[ROLE_FETCHER] >= pool->wanted[ROLE_FETCHER];
}

static void pool_save(struct pool *pool, uint64_t ns)
{
	uint64_t most_ns = SAVED_NS * pool->wanted[ROLE_WORKER];
	pool->spare_ns += ns;
	pool->saved_ns += ns;
	if (pool->saved_ns > most_ns)
		pool->saved_ns = most_ns;
}

static void pool_spend(struct pool *pool, uint64_t ns)
{
	pool->saved_ns -= ns < pool->saved_ns ? ns : pool->saved_ns;
}

static void thread_sleep(struct thread *thread)
{
	struct pool *pool = thread->pool;
	bool spare = thread->role == ROLE_WORKER && pool_is_idle(pool);
	uint64_t since_ns = spare ? clock_ns() : 0;
	pool->asleep[thread->role]++;
	pthread_cond_wait(&pool->work[thread->role], &pool->lock);
	pool->asleep[thread->role]--;
	if (spare)
		pool_save(pool, clock_ns() - since_ns);
}

/* The next job for this thread, or NULL: then its state is ENDED and it must end. */
static struct job *thread_wait(struct thread *thread)
{
	struct pool *pool = thread->pool;
	bool worker = thread->role == ROLE_WORKER;
	while (thread->number < pool->wanted[thread->role]) {
		struct job *job = worker ? worker_take(thread) : fetcher_take(thread);
		if (job)
			return job;
		thread_sleep(thread);
	}
	thread->state = THREAD_ENDED;
	pool_wake_thread(pool, thread->role); /* this wake-up may have been for a job */
	return NULL;
}

/* --- the threads --- */

static void worker_run(struct thread *thread)
{
	struct pool *pool = thread->pool;
	for (uint64_t spent_ns = 0;;) {
		pthread_mutex_lock(&pool->lock);
		pool_spend(pool, spent_ns);
		struct job *job = thread_wait(thread);
		thread->kit.idle = pool_is_idle(pool) || pool->saved_ns > 0;
		pthread_mutex_unlock(&pool->lock);
		if (!job)
			return;
		for (spent_ns = 0; job; job = parcel_claim(&thread->parcel)) {
			sample_make(job, &thread->kit);
			spent_ns += thread->kit.idle ? job->work_ns : 0;
			pool_finish(pool, job);
		}
	}
}

static void fetcher_run(struct thread *thread)
{
	struct pool *pool = thread->pool;
	pthread_mutex_lock(&pool->lock);
	for (struct job *job; (job = thread_wait(thread));) {
		thread->reads = job;
		thread->reads_since_ns = clock_ns();
		pthread_mutex_unlock(&pool->lock);
		sample_fetch(job);
		pthread_mutex_lock(&pool->lock);
		thread->reads = NULL;
		if (job->supply.wants) {
			job->outcome = JOB_AWAITS;
			pool_finish(pool, job);
			continue;
		}
		queue_push(&pool->todo[ROLE_WORKER], job);
		pool_wake_thread(pool, ROLE_WORKER);
	}
	pthread_mutex_unlock(&pool->lock);
}

static void *thread_run(void *argument)
{
	struct thread *thread = argument;
	const struct pool_config *config = &thread->pool->config;
	char name[16];
	bool worker = thread->role == ROLE_WORKER;
	snprintf(name, sizeof(name), worker ? "work-%u" : "fetch-%u", thread->number);
	pthread_setname_np(pthread_self(), name);
	/* On Linux each thread has its own niceness. If it cannot be set, all stay equal. */
	if (worker && setpriority(PRIO_PROCESS, (id_t)gettid(), config->nice) < 0)
		errno = 0;
	if (config->cpus && sched_setaffinity(0, config->cpus_bytes, config->cpus) < 0)
		errno = 0; /* the process may no longer use these processors */
	if (worker)
		worker_run(thread);
	else
		fetcher_run(thread);
	return NULL;
}

static void thread_join(struct thread *thread)
{
	pthread_join(thread->handle, NULL);
	sample_kit_deinit(&thread->kit);
	thread->state = THREAD_IDLE;
}

static int thread_start(struct thread *thread)
{
	int r = thread->role == ROLE_WORKER ? sample_kit_init(&thread->kit) : 0;
	if (r < 0)
		return r;
	/* Only the loop thread receives signals. */
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	thread->state = THREAD_RUNNING;
	r = -pthread_create(&thread->handle, NULL, thread_run, thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r < 0) {
		thread->state = THREAD_IDLE;
		sample_kit_deinit(&thread->kit);
	}
	return r;
}

static enum thread_state thread_state(struct thread *thread)
{
	pthread_mutex_lock(&thread->pool->lock);
	enum thread_state state = thread->state;
	pthread_mutex_unlock(&thread->pool->lock);
	return state;
}

static void pool_want(struct pool *pool, enum role role, unsigned wanted)
{
	pthread_mutex_lock(&pool->lock);
	pool->wanted[role] = wanted;
	if (wanted > pool->most[role])
		pool->most[role] = wanted;
	pthread_cond_broadcast(&pool->work[role]);
	pthread_mutex_unlock(&pool->lock);
}

/* Start and join threads of one role until as many run as are wanted. A thread that was told to end
 * but has not noticed goes on; one that has ended is joined and started again. */
static int pool_settle(struct pool *pool, enum role role, unsigned wanted)
{
	pool_want(pool, role, wanted);
	for (unsigned i = 0; i < POOL_THREADS_MAX; i++) {
		struct thread *thread = &pool->threads[role][i];
		if (thread_state(thread) == THREAD_ENDED)
			thread_join(thread);
		if (i >= wanted || thread_state(thread) == THREAD_RUNNING)
			continue;
		int r = thread_start(thread);
		if (r < 0) {
			pool_want(pool, role, i);
			return r;
		}
	}
	return 0;
}

int pool_new(struct pool **out, const struct pool_config *config)
{
	struct pool *pool = calloc(1, sizeof(*pool));
	if (!pool)
		return -ENOMEM;
	pool->config = *config;
	pthread_mutex_init(&pool->lock, NULL); /* neither can fail on Linux */
	atomic_init(&pool->wake_threshold, 1);
	for (int role = 0; role < ROLE_COUNT; role++) {
		pthread_cond_init(&pool->work[role], NULL);
		queue_init(&pool->todo[role]);
		pool->threads[role] = calloc(POOL_THREADS_MAX, sizeof(struct thread));
		for (unsigned i = 0; pool->threads[role] && i < POOL_THREADS_MAX; i++) {
			pool->threads[role][i].pool = pool;
			pool->threads[role][i].role = (enum role)role;
			pool->threads[role][i].number = i;
		}
	}
	int r = -ENOMEM;
	if (pool->threads[ROLE_FETCHER] && pool->threads[ROLE_WORKER])
		r = pool_resize(pool, config->workers, config->fetchers);
	if (r < 0) {
		pool_free(pool);
		return r;
	}
	*out = pool;
	return 0;
}

void pool_free(struct pool *pool)
{
	if (!pool)
		return;
	for (int role = 0; role < ROLE_COUNT; role++) {
		pool_want(pool, (enum role)role, 0);
		for (unsigned i = 0; pool->threads[role] && i < POOL_THREADS_MAX; i++)
			if (thread_state(&pool->threads[role][i]) != THREAD_IDLE)
				thread_join(&pool->threads[role][i]);
		free(pool->threads[role]);
		pthread_cond_destroy(&pool->work[role]);
	}
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

int pool_resize(struct pool *pool, unsigned workers, unsigned fetchers)
{
	if (workers > POOL_THREADS_MAX || fetchers > POOL_THREADS_MAX || fetchers == 0)
		return -EINVAL;
	int r = pool_settle(pool, ROLE_FETCHER, fetchers);
	if (r == 0)
		r = pool_settle(pool, ROLE_WORKER, workers);
	return r;
}

/* The job that this thread reads for, if for longer than `limit_ns`. It stays valid for the caller,
 * the loop thread, because nobody else frees jobs. */
static const struct job *thread_stuck(struct thread *thread, uint64_t limit_ns, uint64_t *ns_out)
{
	pthread_mutex_lock(&thread->pool->lock);
	const struct job *job = thread->reads;
	*ns_out = job ? clock_ns() - thread->reads_since_ns : 0;
	pthread_mutex_unlock(&thread->pool->lock);
	return *ns_out > limit_ns ? job : NULL;
}

unsigned pool_stuck(struct pool *pool, uint64_t limit_ns, pool_found *found, void *context)
{
	unsigned stuck = 0;
	for (unsigned i = 0; i < pool->most[ROLE_FETCHER]; i++) {
		uint64_t ns;
		const struct job *job =
			thread_stuck(&pool->threads[ROLE_FETCHER][i], limit_ns, &ns);
		if (!job)
			continue;
		stuck++;
		found(context, job, ns);
	}
	return stuck;
}

void pool_submit(struct pool *pool, struct job *list)
{
	pthread_mutex_lock(&pool->lock);
	while (list) {
		struct job *next = list->next;
		enum role role = sample_needs_fetch(list) ? ROLE_FETCHER : ROLE_WORKER;
		queue_push(&pool->todo[role], list);
		list = next;
	}
	for (int role = 0; role < ROLE_COUNT; role++)
		if (pool->todo[role].first)
			pool_wake_thread(pool, (enum role)role);
	pthread_mutex_unlock(&pool->lock);
}

struct job *pool_cancel(struct pool *pool, const void *owner)
{
	struct queue cancelled;
	queue_init(&cancelled);
	pthread_mutex_lock(&pool->lock);
	queue_move(&pool->todo[ROLE_FETCHER], owner, &cancelled);
	queue_move(&pool->todo[ROLE_WORKER], owner, &cancelled);
	pthread_mutex_unlock(&pool->lock);
	return cancelled.first;
}

struct job *pool_take(struct pool *pool)
{
	atomic_store(&pool->untaken, 0);
	struct job *newest = atomic_exchange(&pool->done, NULL), *list = NULL;
	while (newest) {
		struct job *older = newest->next;
		newest->next = list;
		list = newest;
		newest = older;
	}
	return list;
}

void pool_set_sated(struct pool *pool, bool sated)
{
	atomic_store(&pool->sated, sated);
}

uint64_t pool_spare_ns(struct pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	uint64_t spare_ns = pool->spare_ns;
	pthread_mutex_unlock(&pool->lock);
	return spare_ns;
}

void pool_wake_at(struct pool *pool, unsigned jobs)
{
	atomic_store(&pool->wake_threshold, jobs);
	if (atomic_load(&pool->untaken) >= jobs) /* finished before the threshold was set */
		pool->config.wake(pool->config.wake_context);
}
