// SPDX-License-Identifier: MIT
/* A rank's share of an epoch: every position exactly once, whatever the world size. */
#include <stdlib.h>
#include <string.h>

#include "loop/state/shard.h"
#include "tests/unit/test.h"

#define N_MAX 700

static unsigned next_random(unsigned *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* Count how often each position is delivered in the epoch entered at `origin`, over all ranks. */
static void count_positions(struct shard shard, uint64_t origin, unsigned *seen, uint64_t *beyond)
{
	memset(seen, 0, sizeof(*seen) * 4 * N_MAX);
	*beyond = 0;
	for (shard.rank = 0; shard.rank < shard.world; shard.rank++) {
		for (uint64_t j = 0; j < shard_batches(&shard, origin); j++) {
			struct cursor cursor = {3, origin, j};
			struct batch_span span = shard_span(&shard, &cursor);
			assert_true(span.count > 0 && span.count <= shard.batch_size);
			assert_true(span.padded <= span.count && span.wrapped <= span.count);
			assert_true(span.padded == 0 || span.wrapped == 0);
			*beyond += span.padded + span.wrapped;
			for (uint64_t i = 0; i < span.count; i++)
				seen[span.position + i]++;
			uint64_t stride = shard_stride(&shard, origin);
			uint64_t alone = shard_stride_alone(&shard, origin);
			assert_true(shard_fits(&shard, origin, stride) && alone <= stride);
			assert_true(shard_fits(&shard, origin, alone));
			assert_true(shard.last == LAST_WRAP || span.position + span.count <= alone);
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
			.last = (enum last_batch)(next_random(&random) % 4),
		};
		uint64_t origin = next_random(&random) % shard.n, beyond;
		uint64_t global = shard_global_batch(&shard), left = shard.n - origin;
		if (shard.last == LAST_WRAP && global > shard.n) /* refused by attach */
			continue;
		count_positions(shard, origin, seen, &beyond);
		uint64_t whole = left / global * global;
		uint64_t end = shard.last == LAST_DROP ? origin + whole
			       : shard.last == LAST_SHORT
				       ? shard.n
				       : origin + (left + global - 1) / global * global;
		for (uint64_t p = 0; p < end + global && p < 4 * N_MAX; p++)
			assert_int_equal(seen[p], p >= origin && p < end ? 1 : 0);
		assert_int_equal(beyond, end > shard.n ? end - shard.n : 0);
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

/* With LAST_WRAP the epochs are one sequence, cut into global batches from where it was entered:
 * each batch, what it says of itself, and where a run resumes that stops there. */
static void wrapped_epochs_are_one_sequence(void **state)
{
	(void)state;
	unsigned random = 7;
	for (int round = 0; round < 2000; round++) {
		struct shard shard = {.batch_size = 1 + next_random(&random) % 9,
				      .world = 1 + next_random(&random) % 4,
				      .last = LAST_WRAP};
		uint64_t global = shard_global_batch(&shard);
		shard.n = global + next_random(&random) % 40;
		shard.rank = next_random(&random) % shard.world;
		uint64_t n = shard.n, at = next_random(&random) % n; /* counted from epoch 5 on */
		struct cursor cursor = {5, at, 0};
		shard_settle(&shard, &cursor);
		for (int i = 0; i < 60; i++, at += global) {
			uint64_t first = at + shard.rank * shard.batch_size, epoch, position;
			assert_int_equal(cursor.epoch, 5 + at / n);
			struct batch_span span = shard_span(&shard, &cursor);
			assert_int_equal(span.position, first - at / n * n);
			assert_int_equal(span.count, shard.batch_size);
			assert_int_equal(shard_ordinal(&shard, &cursor, n), 5 * n + first);
			for (uint64_t k = 0; k < span.count; k++) {
				struct place place =
					shard_place(&shard, cursor.epoch, span.position + k);
				assert_int_equal(place.epoch, 5 + (first + k) / n);
				assert_int_equal(place.position, (first + k) % n);
				assert_int_equal(place.epoch > cursor.epoch,
						 k >= span.count - span.wrapped);
			}
			shard_resume(&shard, &cursor, &epoch, &position);
			assert_int_equal(epoch, 5 + (at + global) / n);
			assert_int_equal(position, (at + global) % n);
			shard_advance(&shard, &cursor);
		}
	}
}

/* What a reader still gets is what its batches from the cursor on have, to the last: each position
 * of each epoch, whatever becomes of the last batch. */
static void has_what_its_batches_have(void **state)
{
	(void)state;
	unsigned random = 3;
	for (int round = 0; round < 600; round++) {
		struct shard shard = {.batch_size = 1 + next_random(&random) % 7,
				      .world = 1 + next_random(&random) % 3,
				      .last = (enum last_batch)(next_random(&random) % 4)};
		shard.n = shard_global_batch(&shard) + next_random(&random) % 30;
		shard.rank = next_random(&random) % shard.world;
		struct cursor cursor = {2, next_random(&random) % shard.n, 0}, at;
		uint64_t end = 3 + next_random(&random) % 3, extent = 2 * shard.n;
		shard_settle(&shard, &cursor);
		for (unsigned i = next_random(&random) % 4; i > 0; i--)
			shard_advance(&shard, &cursor);
		bool *has = calloc(12 * extent, sizeof(*has));
		assert_non_null(has);
		for (at = cursor; at.epoch < end; shard_advance(&shard, &at)) {
			struct batch_span span = shard_span(&shard, &at);
			for (uint64_t k = 0; k < span.count; k++) {
				struct place place =
					shard_place(&shard, at.epoch, span.position + k);
				has[place.epoch * extent + place.position] = true;
			}
		}
		for (uint64_t epoch = 0; epoch < 12; epoch++)
			for (uint64_t p = 0; p < extent; p++)
				assert_int_equal(shard_has(&shard, &cursor, end, epoch, p),
						 has[epoch * extent + p]);
		free(has);
	}
}

static void wrapped_batches_need_epochs_without_a_gap(void **state)
{
	(void)state;
	struct shard shard = {.n = 21, .batch_size = 8, .world = 1, .last = LAST_WRAP};
	assert_int_equal(shard_stride(&shard, 0), 21);
	assert_false(shard_fits(&shard, 0, 24));
	shard.last = LAST_SHORT;
	assert_int_equal(shard_stride(&shard, 0), 24);
	assert_true(shard_fits(&shard, 0, 21) && shard_fits(&shard, 0, 24));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_position_once),
		cmocka_unit_test(resume_goes_on_where_it_stopped),
		cmocka_unit_test(drop_skips_the_tail),
		cmocka_unit_test(a_share_may_be_empty),
		cmocka_unit_test(wrapped_epochs_are_one_sequence),
		cmocka_unit_test(has_what_its_batches_have),
		cmocka_unit_test(wrapped_batches_need_epochs_without_a_gap),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
