// SPDX-License-Identifier: MIT
/* A rank's share of an epoch: every position exactly once, whatever the world size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "loop/state/shard.h"

#define N_MAX 700

static unsigned next_random(unsigned *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* Count how often each position is delivered in the epoch entered at `origin`, over all ranks. */
static void count_positions(struct shard shard, uint64_t origin, unsigned *seen, uint64_t *padded)
{
	memset(seen, 0, sizeof(*seen) * 4 * N_MAX);
	*padded = 0;
	for (shard.rank = 0; shard.rank < shard.world; shard.rank++) {
		for (uint64_t j = 0; j < shard_batches(&shard, origin); j++) {
			struct cursor cursor = {3, origin, j};
			struct batch_span span = shard_span(&shard, &cursor);
			assert_true(span.count > 0 && span.count <= shard.batch_size);
			assert_true(span.padded <= span.count);
			*padded += span.padded;
			for (uint64_t i = 0; i < span.count; i++)
				seen[span.position + i]++;
			assert_true(span.position + span.count <= shard_extent(&shard, origin));
		}
	}
}

static void each_position_once(void **state)
{
	(void)state;
	unsigned random = 1, *seen = calloc(4 * N_MAX, sizeof(*seen));
	assert_non_null(seen);
	for (int round = 0; round < 3000; round++) {
		struct shard shard = {
			.n = 1 + next_random(&random) % N_MAX,
			.batch_size = 1 + next_random(&random) % 64,
			.world = 1 + next_random(&random) % 8,
			.last = (enum last_batch)(next_random(&random) % 3),
		};
		uint64_t origin = next_random(&random) % shard.n, padded;
		uint64_t global = shard_global_batch(&shard), left = shard.n - origin;
		count_positions(shard, origin, seen, &padded);
		uint64_t whole = left / global * global;
		uint64_t end = shard.last == LAST_DROP ? origin + whole
			       : shard.last == LAST_PAD
				       ? origin + (left + global - 1) / global * global
				       : shard.n;
		for (uint64_t p = 0; p < end + global && p < 4 * N_MAX; p++)
			assert_int_equal(seen[p], p >= origin && p < end ? 1 : 0);
		assert_int_equal(padded, end > shard.n ? end - shard.n : 0);
	}
	free(seen);
}

static void resume_goes_on_where_it_stopped(void **state)
{
	(void)state;
	struct shard eight = {.n = 1000, .batch_size = 16, .world = 8, .last = LAST_SHORT};
	struct cursor cursor = {5, 0, 2};
	uint64_t epoch, position;
	shard_resume(&eight, &cursor, &epoch, &position);
	assert_int_equal(epoch, 5);
	assert_int_equal(position, 3 * 128);
	/* The rest with six ranks begins exactly there. */
	struct shard six = {.n = 1000, .batch_size = 16, .world = 6, .last = LAST_SHORT};
	struct cursor rest = {epoch, position, 0};
	assert_int_equal(shard_span(&six, &rest).position, 384);
	/* Behind the last batch comes the next epoch. */
	cursor.batch = 7;
	shard_resume(&eight, &cursor, &epoch, &position);
	assert_int_equal(epoch, 6);
	assert_int_equal(position, 0);
}

static void drop_skips_the_tail(void **state)
{
	(void)state;
	struct shard shard = {.n = 100, .batch_size = 32, .world = 1, .last = LAST_DROP};
	struct cursor cursor = {0, 0, 2};
	uint64_t epoch, position;
	shard_resume(&shard, &cursor, &epoch, &position);
	assert_int_equal(epoch, 1);
	assert_int_equal(position, 0);
	shard_advance(&shard, &cursor);
	assert_int_equal(cursor.epoch, 1);
	assert_int_equal(cursor.batch, 0);
	/* Entered in the tail there is no batch left: the next epoch begins. */
	struct cursor tail = {4, 90, 0};
	shard_settle(&shard, &tail);
	assert_int_equal(tail.epoch, 5);
	assert_int_equal(tail.origin, 0);
}

static void a_share_may_be_empty(void **state)
{
	(void)state;
	struct shard shard = {.n = 10, .batch_size = 16, .rank = 1, .world = 2, .last = LAST_SHORT};
	assert_int_equal(shard_batches(&shard, 0), 0);
	shard.last = LAST_PAD;
	assert_int_equal(shard_batches(&shard, 0), 1);
	struct cursor cursor = {0, 0, 0};
	struct batch_span span = shard_span(&shard, &cursor);
	assert_int_equal(span.count, 16);
	assert_int_equal(span.padded, 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_position_once),
		cmocka_unit_test(resume_goes_on_where_it_stopped),
		cmocka_unit_test(drop_skips_the_tail),
		cmocka_unit_test(a_share_may_be_empty),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
