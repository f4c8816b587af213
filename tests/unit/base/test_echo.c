// SPDX-License-Identifier: MIT
/* Data echoing: each sample occurs `times` times, never twice in a row, and echo_position() is the
 * inverse of echo_place(). */
#include <stdlib.h>

#include "base/echo.h"
#include "tests/unit/test.h"

/* The two functions are inverse, and the turns of a window are contiguous. */
static void check_both_ways(const struct echo *echo, uint32_t epoch)
{
	for (uint64_t place = 0; place < echo->n; place++) {
		for (uint32_t turn = 0; turn < echo->times; turn++) {
			uint64_t position = echo_position(echo, epoch, place, turn);
			assert_true(position < echo->n * echo->times);
			assert_int_equal(echo_place(echo, epoch, position), place);
		}
	}
}

/* Turns of a sample are at least a quarter of a window apart, and all within its repeated window.
 */
static void check_spread(const struct echo *echo, uint32_t epoch)
{
	for (uint64_t place = 0; place < echo->n; place++) {
		uint64_t first = echo_position(echo, epoch, place, 0), before = first;
		for (uint32_t turn = 1; turn < echo->times; turn++) {
			uint64_t position = echo_position(echo, epoch, place, turn);
			assert_true(position > before);
			if (echo->n >= echo->window && echo->window > 1)
				assert_true(position - before > echo->window / 4);
			if (echo->n > 1 && echo->window > 1)
				assert_true(position - before > 1);
			before = position;
		}
		assert_true(before - first < echo->window * echo->times);
	}
}

static void test_all_sizes(void **state)
{
	(void)state;
	for (uint64_t n = 1; n < 70; n++)
		for (uint64_t window = 1; window < 40; window += 3)
			for (uint32_t times = 1; times < 6; times++)
				for (int shuffle = 0; shuffle < 2; shuffle++) {
					struct echo echo = {n, window, times, shuffle, n * 31};
					check_both_ways(&echo, (uint32_t)n);
					check_spread(&echo, (uint32_t)n);
				}
}

static void test_large(void **state)
{
	(void)state;
	struct echo echo = {((uint64_t)1 << 40) + 7, 1000, 16, true, 5};
	for (uint64_t place = 1; place < echo.n; place = place * 3 + 1)
		for (uint32_t turn = 0; turn < echo.times; turn++)
			assert_int_equal(echo_place(&echo, 9, echo_position(&echo, 9, place, turn)),
					 place);
}

static void test_turns_and_epochs_differ(void **state)
{
	(void)state;
	struct echo echo = {1000, 100, 3, true, 5};
	unsigned moved = 0, other = 0;
	for (uint64_t place = 0; place < echo.n; place++) {
		uint64_t second = echo_position(&echo, 0, place, 1);
		moved += second - echo_position(&echo, 0, place, 0) != 100;
		other += second != echo_position(&echo, 1, place, 1);
	}
	assert_true(moved > 900);
	assert_true(other > 900);
	echo.shuffle = false;
	for (uint64_t place = 0; place < echo.n; place++)
		assert_int_equal(echo_position(&echo, 0, place, 1),
				 echo_position(&echo, 0, place, 0) + 100);
}

/* Resume tokens are used across releases: this must never change. */
static void test_echo_is_what_it_was(void **state)
{
	static const uint64_t known[] = {229, 230, 224, 232, 225, 234};
	(void)state;
	struct echo echo = {1000, 32, 4, true, 42};
	for (uint64_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		assert_int_equal(echo_place(&echo, 3, 1000 + i), known[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_sizes),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_turns_and_epochs_differ),
		cmocka_unit_test(test_echo_is_what_it_was),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
