// SPDX-License-Identifier: MIT
/* How much memory decoded pictures may have, by what is free. */
#include "loop/state/pictures.h"
#include "tests/unit/test.h"

#define GIB ((uint64_t)1 << 30)

/* Of 64 GiB, 4 are for others. */
static uint64_t budget(uint64_t limit, uint64_t bytes, uint64_t available)
{
	return pictures_budget(limit * GIB, bytes * GIB, 64 * GIB, available * GIB) / GIB;
}

static void test_what_is_free(void **state)
{
	(void)state;
	assert_int_equal(budget(16, 0, 60), 16);
	assert_int_equal(budget(16, 0, 14), 10);
	assert_int_equal(budget(16, 6, 14), 16);
	assert_int_equal(budget(16, 6, 8), 10);
	assert_int_equal(budget(16, 10, 4), 10);
	assert_int_equal(budget(0, 10, 60), 0);
}

static void test_others_take_more(void **state)
{
	(void)state;
	assert_int_equal(budget(16, 10, 3), 9);
	assert_int_equal(budget(16, 10, 0), 6);
	assert_int_equal(budget(16, 2, 0), 0);
	assert_int_equal(budget(16, 0, 0), 0);
}

/* A machine that says nothing of its memory. */
static void test_nothing_is_known(void **state)
{
	(void)state;
	assert_int_equal(pictures_budget(5, 3, 100, UINT64_MAX), 5);
	assert_int_equal(pictures_budget(UINT64_MAX, 3, 0, UINT64_MAX), UINT64_MAX);
	assert_int_equal(pictures_budget(UINT64_MAX - 1, UINT64_MAX - 5, 0, 9), UINT64_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_free),
		cmocka_unit_test(test_others_take_more),
		cmocka_unit_test(test_nothing_is_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
