// SPDX-License-Identifier: MIT
/* What is pinned gives way to nobody while anything else is there, keeps no user from a part of the
 * rest, has at most half of the budget, and outlives the daemon. */
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "tests/unit/test.h"

#define MIB ((uint64_t)1 << 20)

static void keep_all(struct stage_set *set, const char *origin, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		const struct stage_use use = {set, i};
		struct stage_item item = item_of(origin, i, 1);
		struct buffer bytes = {(uint8_t *)&i, sizeof(i), sizeof(i)};
		stage_keep(&use, &item, &bytes, SECOND);
	}
}

/* How many of the first `count` are there. */
static uint64_t kept(const char *origin, uint64_t count)
{
	uint64_t there = 0;
	for (uint64_t i = 0; i < count; i++) {
		struct stage_item item = item_of(origin, i, 1);
		there += stage_has(stage, &item.object);
	}
	return there;
}

static size_t marks(void)
{
	char pattern[128];
	glob_t found;
	snprintf(pattern, sizeof(pattern), "%s/*/pinned", folder);
	size_t count = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
	globfree(&found);
	return count;
}

static int pin(struct stage_set *set, bool pinned)
{
	struct fault fault;
	return stage_set_pin(set, pinned, &fault);
}

/* Closed or open, its user's or another's. */
static void test_never_gives_way(void **state)
{
	(void)state;
	begin(20 * BLOCK);
	struct stage_set *first = set_new(1), *second = set_new(2);
	keep_all(first, "pinned", 10);
	assert_int_equal(pin(first, true), 0);
	assert_int_equal(stage_set_totals(first).pinned, 10 * BLOCK);
	assert_int_equal(stage_totals(stage).pinned, 10 * BLOCK);
	keep_all(second, "second", 20);
	assert_int_equal(kept("pinned", 10), 10);
	assert_int_equal(kept("second", 20), 10);
	struct stage_set *third = set_new(3), *again = set_new(1);
	keep_all(third, "third", 20);
	assert_int_equal(kept("third", 20), 5); /* half of what is left */
	keep_all(again, "again", 20);		/* what is pinned is not its user's part */
	assert_in_range(kept("again", 20), 3, 4);
	assert_int_equal(kept("pinned", 10), 10);
	stage_set_close(first); /* nobody has it open */
	keep_all(second, "second", 20);
	assert_int_equal(kept("pinned", 10), 10);
	assert_int_equal(stage_totals(stage).bytes, 20 * BLOCK);
	stage_set_limits(stage, &(struct stage_limits){10 * BLOCK, 0});
	stage_trim(stage); /* the others go first */
	assert_int_equal(kept("pinned", 10), 10);
	stage_set_limits(stage, &(struct stage_limits){4 * BLOCK, 0});
	stage_trim(stage); /* the budget is kept */
	assert_int_equal(kept("pinned", 10), 4);
	assert_int_equal(stage_totals(stage).bytes, 4 * BLOCK);
	stage_unpin(stage);
	assert_int_equal(stage_totals(stage).pinned, 0);
	stage_set_close(second);
	stage_set_close(third);
	stage_set_close(again);
	stage_free(stage);
	assert_int_equal(marks(), 0);
}

static void test_refused(void **state)
{
	(void)state;
	struct fault fault;
	begin(MIB);
	struct stage_set *first = set_new(1), *second = set_new(2);
	assert_int_equal(stage_set_pin(first, true, &fault), STAGE_E_NOTHING);
	assert_non_null(strstr(fault.text, "nothing of it is kept"));
	assert_int_equal(stage_set_pin(first, false, &fault), STAGE_E_NOTHING);
	keep_all(first, "first", 129);
	assert_int_equal(stage_set_pin(first, true, &fault), STAGE_E_LIMIT);
	assert_non_null(strstr(fault.text, "0.5 MiB of it are kept"));
	assert_non_null(strstr(fault.text, "half of cache-size (0.5 MiB)"));
	assert_int_equal(stage_totals(stage).pinned, 0);
	keep_all(second, "second", 100);
	assert_int_equal(pin(second, true), 0);
	stage_set_drop(first);
	stage_trim(stage);
	keep_all(first, "first", 29); /* together too much */
	assert_int_equal(stage_set_pin(first, true, &fault), STAGE_E_LIMIT);
	assert_non_null(strstr(fault.text, "0.4 MiB are pinned already"));
	keep_all(second, "second", 200); /* what comes is pinned, too, up to half */
	assert_int_equal(kept("second", 200), 128);
	assert_int_equal(stage_totals(stage).pinned, 128 * BLOCK);
	assert_int_equal(pin(second, true), 0); /* once more */
	stage_set_close(first);
	stage_set_close(second);
	stage_free(stage);
}

/* Also where nothing was read since, or nothing is left; until it is unpinned or dropped. */
static void test_outlives(void **state)
{
	(void)state;
	begin(20 * BLOCK);
	struct stage_set *set = set_new(1);
	keep_all(set, "pinned", 5);
	assert_int_equal(pin(set, true), 0);
	assert_int_equal(marks(), 0); /* the loop asked for it */
	stage_trim(stage);
	assert_int_equal(marks(), 1);
	stage_set_close(set);
	stage_free(stage);
	for (int round = 0; round < 2; round++) {
		begin(20 * BLOCK);
		assert_int_equal(stage_totals(stage).pinned, 5 * BLOCK);
		set = set_new(2);
		keep_all(set, "other", 20);
		assert_int_equal(kept("pinned", 5), 5);
		stage_set_close(set);
		stage_free(stage);
	}
	begin(20 * BLOCK);
	set = set_new(1);
	keep_all(set, "pinned", 6);
	assert_int_equal(stage_totals(stage).pinned, 6 * BLOCK);
	assert_int_equal(stage_set_totals(set).pinned, BLOCK); /* the others it has not used */
	assert_int_equal(pin(set, false), 0);
	assert_int_equal(stage_set_totals(set).pinned, 0);
	stage_set_close(set);
	stage_free(stage); /* without a trim */
	assert_int_equal(marks(), 0);
	begin(20 * BLOCK);
	assert_int_equal(stage_totals(stage).pinned, 0);
	set = set_new(1);
	keep_all(set, "pinned", 7);
	assert_int_equal(pin(set, true), 0);
	stage_trim(stage);
	stage_set_drop(set);
	stage_trim(stage);
	assert_int_equal(marks() + kept("pinned", 7), 0);
	assert_int_equal(stage_set_totals(set).pinned, 0);
	stage_set_close(set);
	stage_free(stage);
}

/* Entries take memory: there is a limit of these, too, which users share; half can be pinned. */
static void test_many_small_ones(void **state)
{
	(void)state;
	begin(MIB);
	stage_set_limits(stage, &(struct stage_limits){MIB, 0, 20});
	struct stage_set *first = set_new(1), *second = set_new(2);
	keep_all(first, "first", 30);
	assert_int_equal(kept("first", 30), 20);
	assert_int_equal(pin(first, true), STAGE_E_LIMIT);
	keep_all(second, "second", 30);
	assert_int_equal(kept("first", 30), 10);
	assert_int_equal(kept("second", 30), 10);
	assert_int_equal(pin(second, true), 0);
	struct stage_set *third = set_new(3);
	keep_all(third, "third", 30);
	assert_int_equal(kept("third", 30), 5);
	assert_int_equal(kept("second", 30), 10);
	keep_all(second, "second", 30);
	assert_int_equal(stage_totals(stage).items, 20);
	assert_int_equal(kept("second", 30), 10);
	stage_set_limits(stage, &(struct stage_limits){MIB, 0, 4});
	stage_trim(stage);
	assert_int_equal(stage_totals(stage).items, 4);
	stage_set_close(first);
	stage_set_close(second);
	stage_set_close(third);
	stage_free(stage);
	begin(MIB);
	assert_int_equal(stage_totals(stage).items, 4);
	stage_unpin(stage);
	stage_free(stage);
}

/* Many small files weigh as much as few large ones: who has them makes room. */
static void test_users_by_entries(void **state)
{
	(void)state;
	begin(MIB);
	stage_set_limits(stage, &(struct stage_limits){MIB, 0, 40});
	struct stage_set *small = set_new(1), *large = set_new(2);
	uint8_t *data = calloc(8, BLOCK);
	assert_non_null(data);
	for (uint64_t i = 0; i < 10; i++) {
		const struct stage_use use = {large, i};
		struct stage_item item = item_of("large", i, 1);
		struct buffer bytes = {data, 7 * BLOCK, 8 * BLOCK};
		stage_keep(&use, &item, &bytes, SECOND);
	}
	free(data);
	keep_all(small, "small", 60);
	assert_int_equal(kept("large", 10), 10);
	assert_int_equal(kept("small", 60), 30);
	stage_set_close(small);
	stage_set_close(large);
	stage_free(stage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_never_gives_way, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_outlives, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_small_ones, setup, teardown),
		cmocka_unit_test_setup_teardown(test_users_by_entries, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
