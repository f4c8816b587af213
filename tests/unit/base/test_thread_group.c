// SPDX-License-Identifier: MIT
/* Thread groups: each number once, in order, several at a time; none after a stop. */
#include "tests/unit/test.h"
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/thread_group.h"

#define COUNT 500

struct tally {
	_Atomic unsigned done[COUNT];
	_Atomic uint64_t begun, at_work;
	atomic_bool met, go;
};

static void note(void *context, uint64_t number)
{
	struct tally *tally = context;
	atomic_fetch_add(&tally->begun, 1);
	atomic_fetch_add(&tally->done[number], 1);
}

static void test_each_number_once(void **state)
{
	(void)state;
	static struct tally tally;
	struct thread_group *group;
	assert_int_equal(thread_group_begin(&group, 8, COUNT, note, &tally), 0);
	thread_group_end(group);
	for (unsigned i = 0; i < COUNT; i++)
		assert_int_equal(atomic_load(&tally.done[i]), 1);
	thread_group_end(NULL);
}

/* Goes on once three are at work. */
static void meet(void *context, uint64_t number)
{
	struct tally *tally = context;
	note(tally, number);
	if (atomic_fetch_add(&tally->at_work, 1) + 1 == 3)
		atomic_store(&tally->met, true);
	while (!atomic_load(&tally->met))
		sched_yield();
}

static void test_several_at_a_time(void **state)
{
	(void)state;
	static struct tally tally;
	struct thread_group *group;
	assert_int_equal(thread_group_begin(&group, 3, 3, meet, &tally), 0);
	thread_group_end(group);
	assert_true(atomic_load(&tally.met));
}

static void wait_for_go(void *context, uint64_t number)
{
	struct tally *tally = context;
	note(tally, number);
	while (!atomic_load(&tally->go))
		sched_yield();
}

static void test_stop(void **state)
{
	(void)state;
	static struct tally tally;
	struct thread_group *group;
	assert_int_equal(thread_group_begin(&group, 2, COUNT, wait_for_go, &tally), 0);
	while (atomic_load(&tally.begun) < 2)
		sched_yield();
	thread_group_stop(group);
	atomic_store(&tally.go, true);
	thread_group_end(group);
	assert_int_equal(atomic_load(&tally.begun), 2);
	assert_int_equal(atomic_load(&tally.done[0]) + atomic_load(&tally.done[1]), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_number_once),
		cmocka_unit_test(test_several_at_a_time),
		cmocka_unit_test(test_stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
