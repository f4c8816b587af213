// SPDX-License-Identifier: MIT
/* The stage under several fetches of one item at once, and under fetches ahead of the readers. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "fixture.h"
#include "tests/unit/test.h"

/* Threads that fetch the item now, and the most at once. */
static atomic_uint fetching, fetching_most;

/* Fetch the item, or find it after another thread has fetched it. */
static void *fetch_or_wait(void *context)
{
	struct stage_set *set = context;
	struct stage_item item = item_of("a", 1, 1);
	if (stage_claim_fetch(stage, &item.object)) {
		unsigned now = atomic_fetch_add(&fetching, 1) + 1;
		if (now > atomic_load(&fetching_most))
			atomic_store(&fetching_most, now);
		if (!found(set, "a", 1, 1))
			keep(set, "a", 1, 1);
		atomic_fetch_sub(&fetching, 1);
		stage_end_fetch(stage, &item.object);
	} else {
		assert_true(found(set, "a", 1, 1));
	}
	return NULL;
}

static void test_one_thread_fetches_an_item(void **state)
{
	(void)state;
	pthread_t threads[8];
	begin(100 * BLOCK);
	struct stage_set *set = set_new(1);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, fetch_or_wait, set), 0);
	for (size_t i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(fetching_most, 1);
	assert_int_equal(stage_totals(stage).fetched_bytes, 16);
	stage_set_close(set);
	stage_free(stage);
}

/* Fetch an item of so many bytes ahead, if the stage allows it; `arrives`: the fetch succeeds. */
static bool fetch_ahead(struct stage_set *set, uint64_t number, uint64_t size, bool arrives)
{
	const struct stage_use use = {.set = set, .sample = number};
	struct stage_item item = item_of("a", number, 1);
	struct buffer bytes = {calloc(1, size), size, size, 0};
	bool booked = stage_book_ahead(&use, &item, size, SECOND);
	if (booked)
		stage_keep_ahead(&use, &item, size, arrives ? &bytes : NULL, SECOND);
	free(bytes.data);
	return booked;
}

static enum stage_found look_for(struct stage_set *set, uint64_t number)
{
	const struct stage_use use = {.set = set, .sample = number};
	struct stage_item item = item_of("a", number, 1);
	struct buffer bytes = BUFFER_NULL;
	enum stage_found found = stage_find(&use, &item, UINT64_MAX, &bytes, SECOND);
	buffer_deinit(&bytes);
	return found;
}

/* A failed fetch gives its room back; the first read of an item fetched ahead is no hit; so many
 * bytes may be fetched ahead and not read, 8 MiB at first. */
static void test_fetch_ahead(void **state)
{
	(void)state;
	const uint64_t mib = 1 << 20, first = 8;
	begin(64 * mib);
	struct stage_set *set = set_new(1);
	assert_true(fetch_ahead(set, 0, mib, false));
	assert_int_equal(stage_totals(stage).bytes, 0);
	assert_true(look_for(set, 0) == STAGE_NONE);
	for (uint64_t i = 0; i < first; i++)
		assert_true(fetch_ahead(set, i, mib, true));
	assert_false(fetch_ahead(set, first, mib, true)); /* until something was read */
	assert_int_equal(stage_totals(stage).fetched_bytes, first * mib);
	assert_true(look_for(set, 0) == STAGE_FRESH);
	assert_true(look_for(set, 0) == STAGE_KEPT);
	assert_int_equal(stage_totals(stage).hits, 1);
	assert_false(fetch_ahead(set, 0, mib, true)); /* it is kept */
	assert_true(fetch_ahead(set, first, mib, true));
	stage_set_close(set);
	stage_free(stage);
}

static void test_fetch_ahead_stops_when_full(void **state)
{
	(void)state;
	begin(10 * BLOCK);
	struct stage_set *set = set_new(1);
	for (uint64_t i = 0; i < 20; i++)
		assert_true(fetch_ahead(set, i, 100, true) == (i < 10));
	assert_int_equal(stage_totals(stage).bytes, 10 * BLOCK);
	assert_int_equal(stage_totals(stage).full, 0); /* nobody missed it */
	stage_set_close(set);
	stage_free(stage);
}

/* Items fetched ahead may replace kept ones only while those that nobody has read yet are a small
 * part of the budget. */
static void test_fetch_ahead_replaces_a_part(void **state)
{
	(void)state;
	begin(64 * BLOCK);
	struct stage_set *old = set_new(1);
	for (uint64_t i = 0; i < 64; i++)
		keep(old, "old", i, 1);
	stage_set_close(old);
	struct stage_set *set = set_new(1);
	assert_true(fetch_ahead(set, 0, 100, false)); /* the fetch failed: its room is free again */
	for (uint64_t i = 0; i < 6; i++)
		assert_true(fetch_ahead(set, i, 100, true) == (i < 4));
	assert_true(look_for(set, 0) == STAGE_FRESH);
	assert_true(fetch_ahead(set, 4, 100, true)); /* in its place */
	assert_false(fetch_ahead(set, 5, 100, true));
	struct stage_item item = item_of("a", 1, 1);
	stage_remove(stage, &item);
	assert_true(fetch_ahead(set, 5, 100, true)); /* in the free room */
	assert_false(fetch_ahead(set, 6, 100, true));
	keep(set, "a", 7, 1); /* a fetch for a reader replaces as ever */
	assert_true(look_for(set, 7) == STAGE_KEPT);
	stage_set_close(set);
	stage_free(stage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_thread_fetches_an_item, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fetch_ahead, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fetch_ahead_stops_when_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fetch_ahead_replaces_a_part, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
