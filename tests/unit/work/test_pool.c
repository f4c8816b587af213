/* SPDX-License-Identifier: MIT */
/*
 * The pool, with functions of this test instead of work/sample.c: `held_make` and `held_fetch` name
 * a sample that waits until the test lets it go on. The test waits for states, never for a time.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/test.h"
#include "work/pool.h"
#include "work/sample.h"

#define JOBS 200
#define SMALL 1000     /* ns: of these a worker takes many at a time */
#define LARGE 50000000 /* ... and of these one */

static struct job jobs[JOBS];
static atomic_int made[JOBS], begun, ended, fetched, wakes;
static atomic_bool idle[JOBS]; /* a worker had time to spare for it */
static _Atomic uint64_t work_ns;
static atomic_int held_make = -1, held_fetch = -1; /* the sample that waits */
static int owners[2];

int sample_kit_init(struct sample_kit *kit)
{
	*kit = SAMPLE_KIT_NULL;
	return 0;
}

void sample_kit_deinit(struct sample_kit *kit)
{
	(void)kit;
}

bool sample_needs_fetch(const struct job *job)
{
	(void)job;
	return true;
}

void sample_fetch(struct job *job)
{
	while (atomic_load(&held_fetch) == (int)job->sample)
		usleep(100);
	atomic_fetch_add(&fetched, 1);
}

void sample_make(struct job *job, struct sample_kit *kit)
{
	atomic_store(&idle[job->sample], kit->idle);
	job->work_ns = atomic_load(&work_ns);
	atomic_fetch_add(&begun, 1);
	while (atomic_load(&held_make) == (int)job->sample)
		usleep(100);
	atomic_fetch_add(&made[job->sample], 1);
	atomic_fetch_add(&ended, 1);
}

static void wake(void *context)
{
	(void)context;
	atomic_fetch_add(&wakes, 1);
}

static void until(atomic_int *counter, int count)
{
	while (atomic_load(counter) < count)
		usleep(100);
}

static struct pool *start(unsigned workers, unsigned fetchers)
{
	const struct pool_config config = {.workers = workers, .fetchers = fetchers, .wake = wake};
	struct pool *pool;
	memset(jobs, 0, sizeof(jobs));
	for (int i = 0; i < JOBS; i++)
		atomic_store(&made[i], 0);
	begun = ended = fetched = wakes = 0;
	work_ns = 0;
	held_make = held_fetch = -1;
	assert_int_equal(pool_new(&pool, &config), 0);
	return pool;
}

/* Submit the samples [first, last) in one list. */
static void submit(struct pool *pool, int first, int last, uint64_t cost_ns)
{
	for (int i = first; i < last; i++) {
		jobs[i] = (struct job){.sample = (uint64_t)i, .cost_ns = cost_ns};
		jobs[i].owner = &owners[i % 2];
		jobs[i].next = i + 1 < last ? &jobs[i + 1] : NULL;
	}
	pool_submit(pool, &jobs[first]);
}

/* Take finished jobs until `count` are back; their samples, in order, into `out`. */
static void take(struct pool *pool, int count, int *out)
{
	for (int back = 0; back < count;) {
		for (struct job *job = pool_take(pool); job; job = job->next)
			out[back++] = (int)job->sample;
		usleep(100);
	}
}

static unsigned count_of(const struct job *list)
{
	unsigned count = 0;
	for (; list; list = list->next)
		count++;
	return count;
}

static void check_made_once(int first, int last)
{
	for (int i = first; i < last; i++)
		assert_int_equal(made[i], 1);
}

static void test_one_worker_keeps_the_order(void **state)
{
	struct pool *pool = start(1, 1);
	int out[JOBS];
	(void)state;
	submit(pool, 0, 100, SMALL);
	submit(pool, 100, JOBS, 0);
	take(pool, JOBS, out);
	for (int i = 0; i < JOBS; i++)
		assert_int_equal(out[i], i);
	check_made_once(0, JOBS);
	pool_free(pool);
}

/* All jobs wait for workers, which then take parcels; the held job is the first of one. */
static void test_a_slow_one_holds_up_itself_only(void **state)
{
	(void)state;
	for (unsigned workers = 2; workers < 5; workers++) {
		struct pool *pool = start(0, 2);
		int out[JOBS];
		atomic_store(&held_make, 0);
		submit(pool, 0, JOBS, SMALL);
		until(&fetched, JOBS);
		assert_int_equal(pool_resize(pool, workers, 2), 0);
		take(pool, JOBS - 1, out);
		assert_int_equal(made[0], 0);
		atomic_store(&held_make, -1);
		take(pool, 1, out);
		assert_int_equal(out[0], 0);
		check_made_once(0, JOBS);
		pool_free(pool);
	}
}

static void test_slow_storage_holds_up_itself_only(void **state)
{
	struct pool *pool = start(1, 2);
	int out[JOBS];
	(void)state;
	atomic_store(&held_fetch, 3);
	submit(pool, 0, JOBS, SMALL);
	take(pool, JOBS - 1, out);
	assert_int_equal(made[3], 0);
	atomic_store(&held_fetch, -1);
	take(pool, 1, out);
	check_made_once(0, JOBS);
	pool_free(pool);
}

/* Large jobs are taken one by one: each worker has one and the others can be cancelled. */
static void test_large_ones_go_one_by_one(void **state)
{
	struct pool *pool = start(0, 1);
	int out[JOBS];
	(void)state;
	atomic_store(&held_make, 0);
	submit(pool, 0, 20, LARGE);
	until(&fetched, 20);
	assert_int_equal(pool_resize(pool, 1, 1), 0);
	until(&begun, 1);
	assert_int_equal(count_of(pool_cancel(pool, NULL)), 19);
	atomic_store(&held_make, -1);
	take(pool, 1, out);
	pool_free(pool);
}

/* Of small jobs a worker takes some, but no more than its share. */
static void test_small_ones_go_in_parcels(void **state)
{
	struct pool *pool = start(0, 1);
	int out[JOBS];
	(void)state;
	atomic_store(&held_make, 0);
	submit(pool, 0, 20, SMALL);
	until(&fetched, 20);
	assert_int_equal(pool_resize(pool, 1, 1), 0);
	until(&begun, 1);
	unsigned left = count_of(pool_cancel(pool, NULL));
	assert_in_range(left, 9, 18);
	atomic_store(&held_make, -1);
	take(pool, 20 - (int)left, out);
	assert_int_equal(ended, 20 - left);
	pool_free(pool);
}

static void test_cancelled_by_owner(void **state)
{
	struct pool *pool = start(0, 1);
	int out[JOBS];
	(void)state;
	submit(pool, 0, 40, SMALL);
	until(&fetched, 40);
	struct job *list = pool_cancel(pool, &owners[1]);
	assert_int_equal(count_of(list), 20);
	for (; list; list = list->next)
		assert_int_equal(list->sample % 2, 1);
	assert_int_equal(pool_resize(pool, 3, 1), 0);
	take(pool, 20, out);
	assert_int_equal(ended, 20);
	pool_free(pool);
}

/* The loop is woken once, when as many jobs are finished as its threshold says. A worker may count
 * a job that was just taken, so fewer jobs than the threshold are submitted. */
static void test_woken_when_it_matters(void **state)
{
	struct pool *pool = start(1, 1);
	int out[JOBS];
	(void)state;
	pool_wake_at(pool, 10);
	submit(pool, 0, 8, SMALL);
	take(pool, 8, out);
	submit(pool, 0, 8, SMALL);
	until(&ended, 16);
	assert_int_equal(wakes, 0);
	submit(pool, 8, 10, SMALL);
	until(&wakes, 1);
	take(pool, 10, out);
	/* The new threshold may be below what is finished already. */
	pool_wake_at(pool, 100);
	submit(pool, 0, 9, SMALL);
	until(&ended, 27);
	int before = wakes;
	pool_wake_at(pool, 5);
	until(&wakes, before + 1);
	take(pool, 9, out);
	pool_free(pool);
}

static void test_resized_in_the_middle(void **state)
{
	struct pool *pool = start(4, 2);
	int out[JOBS];
	(void)state;
	for (int round = 0; round < 20; round++) {
		submit(pool, 0, JOBS, round % 2 ? SMALL : 0);
		for (unsigned i = 0; i < 8; i++)
			assert_int_equal(pool_resize(pool, 8 - i, 1 + i % 3), 0);
		assert_int_equal(pool_resize(pool, 1 + (unsigned)round % 4, 2), 0);
		take(pool, JOBS, out);
	}
	for (int i = 0; i < JOBS; i++)
		assert_int_equal(made[i], 20);
	pool_free(pool);
}

/* What workers sleep is to spare where there is no more to submit for now, not where the loop is
 * late. */
static void test_time_to_spare(void **state)
{
	struct pool *pool = start(1, 1);
	int out[JOBS], job = 0;
	(void)state;
	for (; job < 3; job++) {
		submit(pool, job, job + 1, LARGE);
		take(pool, 1, out);
	}
	assert_int_equal(pool_spare_ns(pool), 0);
	pool_set_sated(pool, true);
	for (; pool_spare_ns(pool) == 0; job++) {
		assert_true(job < JOBS - 3);
		submit(pool, job, job + 1, LARGE);
		take(pool, 1, out);
	}
	pool_free(pool);
}

/* The worker sleeps until it has had time to spare, then makes ten jobs of so much work. How many
 * of those behind which others waited were made with time to spare? */
static int made_idle(uint64_t ns)
{
	struct pool *pool = start(1, 1);
	int out[JOBS], count = 0;
	pool_set_sated(pool, true);
	for (int job = 20; pool_spare_ns(pool) == 0; job++) {
		assert_true(job < JOBS);
		submit(pool, job, job + 1, LARGE);
		take(pool, 1, out);
	}
	atomic_store(&held_make, 0);
	atomic_store(&work_ns, ns);
	fetched = 0;
	submit(pool, 0, 10, LARGE);
	until(&fetched, 10);
	atomic_store(&held_make, -1);
	take(pool, 10, out);
	pool_free(pool);
	for (int i = 1; i < 9; i++)
		count += atomic_load(&idle[i]);
	return count;
}

/* What workers slept while nothing was to do may be worked off later, and only once. */
static void test_spare_time_is_saved(void **state)
{
	(void)state;
	assert_int_equal(made_idle(0), 8);
	assert_int_equal(made_idle(LARGE * UINT64_C(1000)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_worker_keeps_the_order),
		cmocka_unit_test(test_a_slow_one_holds_up_itself_only),
		cmocka_unit_test(test_slow_storage_holds_up_itself_only),
		cmocka_unit_test(test_large_ones_go_one_by_one),
		cmocka_unit_test(test_small_ones_go_in_parcels),
		cmocka_unit_test(test_cancelled_by_owner),
		cmocka_unit_test(test_woken_when_it_matters),
		cmocka_unit_test(test_resized_in_the_middle),
		cmocka_unit_test(test_time_to_spare),
		cmocka_unit_test(test_spare_time_is_saved),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
