// SPDX-License-Identifier: MIT
/* The order of an epoch: a bijection for every n, with the statistics of a random permutation. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "tests/unit/test.h"

static void check_bijection(uint64_t seed, uint32_t epoch, uint64_t n)
{
	bool *seen = calloc(n, sizeof(*seen));
	assert_non_null(seen);
	for (uint64_t position = 0; position < n; position++) {
		uint64_t at = order_at(seed, epoch, n, position);
		assert_true(at < n);
		assert_false(seen[at]);
		seen[at] = true;
		assert_int_equal(order_find(seed, epoch, n, at), position);
	}
	free(seen);
}

static void test_every_index_once(void **state)
{
	(void)state;
	for (uint64_t n = 1; n <= 300; n++)
		check_bijection(n * 77, (uint32_t)n, n);
	static const uint64_t sizes[] = {1023, 1024, 1025, 4095, 4096, 4097, 50000, 65537, 262145};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		check_bijection(UINT64_MAX - i, UINT32_MAX, sizes[i]);
}

static void test_large_n(void **state)
{
	static const uint64_t sizes[] = {((uint64_t)1 << 32) + 1, ((uint64_t)1 << 62) + 3,
					 UINT64_MAX};
	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		uint64_t last = order_at(1, 1, sizes[i], sizes[i] - 1);
		assert_true(order_at(1, 1, sizes[i], 0) < sizes[i]);
		assert_true(last < sizes[i]);
		assert_true(order_at(1, 1, sizes[i], 0) != last);
	}
}

/* Resume tokens are used across releases: these must never change. */
static void test_order_is_what_it_was(void **state)
{
	static const uint64_t known[] = {283011, 906168, 1222576, 1132228, 9469, 590649};
	(void)state;
	for (uint64_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		assert_int_equal(order_at(42, 3, 1281167, i), known[i]);
}

/* Chi-square of (position, index) in 16 x 16 cells: 225 degrees of freedom. */
static double spread(uint32_t epoch, uint64_t n)
{
	static unsigned cells[16][16];
	double expected = (double)n / 256, sum = 0;
	memset(cells, 0, sizeof(cells));
	for (uint64_t position = 0; position < n; position++)
		cells[position * 16 / n][order_at(9, epoch, n, position) * 16 / n]++;
	for (int i = 0; i < 256; i++)
		sum += (cells[i / 16][i % 16] - expected) * (cells[i / 16][i % 16] - expected);
	return sum / expected;
}

static void test_order_is_shuffled(void **state)
{
	(void)state;
	for (uint32_t epoch = 0; epoch < 10; epoch++) { /* 5 standard deviations */
		assert_true(spread(epoch, 100000) < 225 + 5 * 21.3);
		assert_true(spread(epoch, 65536) < 225 + 5 * 21.3);
	}
}

/* Fixed points, and neighbours that stay neighbours: about one of each is expected. */
static void test_neighbours_part(void **state)
{
	const uint64_t n = 10000;
	unsigned fixed = 0, following = 0, same = 0;
	(void)state;
	for (uint64_t position = 0; position + 1 < n; position++) {
		uint64_t at = order_at(4, 0, n, position);
		fixed += at == position;
		following += order_at(4, 0, n, position + 1) == at + 1;
		same += order_at(4, 1, n, position) == at;
	}
	assert_true(fixed < 8);
	assert_true(following < 8);
	assert_true(same < 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_index_once),
		cmocka_unit_test(test_large_n),
		cmocka_unit_test(test_order_is_what_it_was),
		cmocka_unit_test(test_order_is_shuffled),
		cmocka_unit_test(test_neighbours_part),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
