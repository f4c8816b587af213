// SPDX-License-Identifier: MIT
/* The loop's time slice, and that of threads that it starts; as the kernel tells it. */
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "loop/os/slice.h"
#include "tests/unit/test.h"

static uint64_t slice_ns(void)
{
	uint64_t attr[32] = {0}; /* its header and pthread.h exclude each other */
	assert_int_equal(syscall(SYS_sched_getattr, 0, attr, sizeof(attr), 0), 0);
	return attr[3]; /* sched_runtime */
}

static void *slice_of_thread(void *out)
{
	*(uint64_t *)out = slice_ns();
	return NULL;
}

/* 0: a kernel without slices of one's own. */
static void the_loop_has_a_short_one(void **state)
{
	uint64_t before = slice_ns(), other;
	int niceness = getpriority(PRIO_PROCESS, 0);
	pthread_t thread;
	(void)state;
	if (before == 0 || niceness < 0)
		skip();
	slice_shorten();
	assert_true(slice_ns() < before);
	assert_int_equal(getpriority(PRIO_PROCESS, 0), niceness);
	assert_int_equal(pthread_create(&thread, NULL, slice_of_thread, &other), 0);
	pthread_join(thread, NULL);
	assert_int_equal(other, before);
	uint64_t once = slice_ns();
	slice_shorten();
	assert_int_equal(slice_ns(), once);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_loop_has_a_short_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
