// SPDX-License-Identifier: MIT
/* The order "shards": a bijection with its inverse for shards of any sizes, one shard's samples
 * near each other, and another order in each epoch. */
#include <stdbool.h>
#include <stdlib.h>

#include "base/shard_order.h"
#include "tests/unit/test.h"

#define SHARDS_MAX 40

/* Shards of sizes from 0 to 12, by a number; the first entry of each and of what is behind. */
static uint32_t make_firsts(unsigned number, uint64_t first[SHARDS_MAX + 1])
{
	uint32_t shards = 1 + number % SHARDS_MAX;
	first[0] = 0;
	for (uint32_t i = 0; i < shards; i++)
		first[i + 1] = first[i] + (number * 7 + i * 5) % 13;
	first[shards] += 1; /* at least one sample */
	return shards;
}

static void check_epoch(struct shard_order *order, uint64_t n, uint64_t seed, uint32_t epoch)
{
	bool *seen = calloc(n, sizeof(*seen));
	assert_non_null(seen);
	for (uint64_t position = 0; position < n; position++) {
		uint64_t at = shard_order_at(order, seed, epoch, position);
		assert_true(at < n);
		assert_false(seen[at]);
		seen[at] = true;
		assert_int_equal(shard_order_find(order, seed, epoch, at), position);
	}
	free(seen);
}

static void test_bijection(void **state)
{
	(void)state;
	static const uint64_t windows[] = {1, 2, 7, 64, UINT32_MAX};
	for (unsigned number = 0; number < 80; number++) {
		uint64_t first[SHARDS_MAX + 1];
		struct shard_order *order;
		uint32_t shards = make_firsts(number, first);
		assert_int_equal(shard_order_new(&order, first, shards, windows[number % 5]), 0);
		for (uint32_t epoch = 0; epoch < 3; epoch++)
			check_epoch(order, first[shards], number, epoch);
		shard_order_free(order);
	}
}

/* A window of one shard's size: a position's samples are of as many shards as windows touch. */
static void test_shards_follow_each_other(void **state)
{
	(void)state;
	uint64_t first[SHARDS_MAX + 1];
	struct shard_order *order;
	for (uint32_t i = 0; i <= SHARDS_MAX; i++)
		first[i] = (uint64_t)i * 100;
	assert_int_equal(shard_order_new(&order, first, SHARDS_MAX, 100), 0);
	bool moved = false, same = true;
	for (uint32_t window = 0; window < SHARDS_MAX; window++) {
		uint64_t shard = shard_order_at(order, 5, 1, window * 100) / 100;
		moved = moved || shard != window;
		same = same && shard == shard_order_at(order, 5, 2, window * 100) / 100;
		for (uint64_t i = 0; i < 100; i++)
			assert_int_equal(shard_order_at(order, 5, 1, window * 100 + i) / 100,
					 shard);
	}
	assert_true(moved);
	assert_false(same);
	shard_order_free(order);
}

/* Whatever was asked for before: the tables of epochs are made again. */
static void test_is_pure(void **state)
{
	(void)state;
	uint64_t first[SHARDS_MAX + 1], known[30];
	struct shard_order *order;
	uint32_t shards = make_firsts(33, first);
	assert_int_equal(shard_order_new(&order, first, shards, 20), 0);
	for (uint64_t i = 0; i < 30; i++)
		known[i] = shard_order_at(order, 9, (uint32_t)i % 5, i);
	for (uint64_t i = 30; i-- > 0;)
		assert_int_equal(shard_order_at(order, 9, (uint32_t)i % 5, i), known[i]);
	shard_order_free(order);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bijection),
		cmocka_unit_test(test_shards_follow_each_other),
		cmocka_unit_test(test_is_pure),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
