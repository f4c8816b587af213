// SPDX-License-Identifier: MIT
/* Which slots of a ring have memory, by ranks. */
#include "loop/state/bands.h"
#include "tests/unit/test.h"

static const struct cursor begin = {0};

static struct share shard_of(uint64_t rank, uint64_t world)
{
	return (struct share){.n = 100, .batch_size = 4, .rank = rank, .world = world};
}

static void whom_they_suit(void **state)
{
	(void)state;
	struct share share = shard_of(1, 8);
	struct cursor later = {3, 32, 1}, between = {3, 33, 1};
	assert_true(bands_suit(&share, &begin) && bands_suit(&share, &later));
	assert_false(bands_suit(&share, &between));
	share.last = LAST_WRAP;
	assert_false(bands_suit(&share, &begin));
	share = shard_of(0, 1);
	assert_false(bands_suit(&share, &begin));
}

static void ranks_are_added(void **state)
{
	(void)state;
	struct share one = shard_of(1, 8), five = shard_of(5, 8);
	struct bands bands, others;
	assert_int_equal(bands_init(&bands, &one, &begin), 0);
	assert_true(bands_have(&bands, &one, &begin));
	assert_false(bands_have(&bands, &five, &begin));
	assert_int_equal(bands_count(&bands), 1);
	assert_int_equal(bands_init(&others, &five, &begin), 0);
	bands_join(&others, &bands);
	assert_int_equal(bands_count(&others), 2);
	bands_add(&bands, &five, &begin);
	assert_true(bands_have(&bands, &five, &begin));
	bands_deinit(&bands);
	bands_deinit(&others);
}

static void who_is_cut_otherwise_needs_all(void **state)
{
	(void)state;
	struct share one = shard_of(1, 8), alone = shard_of(0, 1), wide = shard_of(1, 8);
	struct cursor between = {0, 33, 0};
	struct bands bands;
	wide.batch_size = 5;
	assert_int_equal(bands_init(&bands, &one, &begin), 0);
	assert_false(bands_have(&bands, &alone, &begin));
	assert_false(bands_have(&bands, &wide, &begin));
	assert_false(bands_have(&bands, &one, &between));
	bands_add(&bands, &alone, &begin);
	assert_int_equal(bands_count(&bands), UINT64_MAX);
	assert_true(bands_have(&bands, &wide, &begin) && bands_have(&bands, &one, &between));
	assert_int_equal(bands_init(&bands, &one, &begin), 0);
	bands_join(&bands, &BANDS_ALL);
	assert_int_equal(bands_count(&bands), UINT64_MAX);
	bands_deinit(&bands);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whom_they_suit),
		cmocka_unit_test(ranks_are_added),
		cmocka_unit_test(who_is_cut_otherwise_needs_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
