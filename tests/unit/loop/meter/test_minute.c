// SPDX-License-Identifier: MIT
/* A reader's last minute: which seconds are kept, and what was waited in them. */
#include "loop/meter/minute.h"
#include "tests/unit/test.h"

static void no_second(void **state)
{
	(void)state;
	const struct minute minute = {0};
	assert_int_equal(minute_kept(&minute), 0);
	assert_true(minute_waited(&minute) == -1);
}

/* The oldest first, also where the ring has turned. */
static void the_last_sixty(void **state)
{
	(void)state;
	struct minute minute = {0};
	for (unsigned i = 0; i < 100; i++)
		minute_add(&minute, i, i < 70 ? 1 : 0.5);
	assert_int_equal(minute_kept(&minute), 60);
	assert_int_equal(minute_second(&minute, 0)->delivered, 40);
	assert_int_equal(minute_second(&minute, 59)->delivered, 99);
	assert_true(minute_waited(&minute) == 0.75); /* 30 of 1 and 30 of 0.5 */
}

/* A tick may be late, and a clock's parts do not add up to the bit. */
static void held_to_its_range(void **state)
{
	(void)state;
	struct minute minute = {0};
	minute_add(&minute, (uint64_t)1 << 40, 1.5);
	minute_add(&minute, 0, -0.25);
	assert_true(minute_second(&minute, 0)->delivered == UINT32_MAX);
	assert_true(minute_waited(&minute) == 0.5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_second),
		cmocka_unit_test(the_last_sixty),
		cmocka_unit_test(held_to_its_range),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
