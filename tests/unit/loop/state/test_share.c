// SPDX-License-Identifier: MIT
/* A rank's share of an epoch: every position exactly once, whatever the world size. */
#include <stdlib.h>
#include <string.h>

#include "loop/state/share.h"
#include "tests/unit/test.h"

#define N_MAX 700

static unsigned next_random(unsigned *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* Count how often each position is delivered in the epoch entered at `origin`, over all ranks. */
static void count_positions(struct share share, uint64_t origin, unsigned *seen, uint64_t *beyond)
{
	memset(seen, 0, sizeof(*seen) * 4 * N_MAX);
	*beyond = 0;
	for (share.rank = 0; share.rank < share.world; share.rank++) {
		for (uint64_t j = 0; j < share_batches(&share, origin); j++) {
			struct cursor cursor = {3, origin, j};
			struct batch_span span = share_span(&share, &cursor);
			assert_true(span.count > 0 && span.count <= share.batch_size);
			assert_true(span.padded <= span.count && span.wrapped <= span.count);
			assert_true(span.padded == 0 || span.wrapped == 0);
			*beyond += span.padded + span.wrapped;
			for (uint64_t i = 0; i < span.count; i++)
				seen[span.position + i]++;
			uint64_t stride = share_stride(&share, origin);
			uint64_t alone = share_stride_alone(&share, origin);
			assert_true(share_fits(&share, origin, stride) && alone <= stride);
			assert_true(share_fits(&share, origin, alone));
			assert_true(share.last == LAST_WRAP || span.position + span.count <= alone);
		}
	}
}

static void each_position_once(void **state)
{
	(void)state;
	unsigned random = 1, *seen = calloc(4 * N_MAX, sizeof(*seen));
	assert_non_null(seen);
	for (int round = 0; round < 3000; round++) {
		struct share share = {
			.n = 1 + next_random(&random) % N_MAX,
			.batch_size = 1 + next_random(&random) % 64,
			.world = 1 + next_random(&random) % 8,
			.last = (enum last_batch)(next_random(&random) % 4),
		};
		uint64_t origin = next_random(&random) % share.n, beyond;
		uint64_t global = share_global_batch(&share), left = share.n - origin;
		if (share.last == LAST_WRAP && global > share.n) /* refused by attach */
			continue;
		count_positions(share, origin, seen, &beyond);
		uint64_t whole = left / global * global;
		uint64_t end = share.last == LAST_DROP ? origin + whole
			       : share.last == LAST_SHORT
				       ? share.n
				       : origin + (left + global - 1) / global * global;
		for (uint64_t p = 0; p < end + global && p < 4 * N_MAX; p++)
			assert_int_equal(seen[p], p >= origin && p < end ? 1 : 0);
		assert_int_equal(beyond, end > share.n ? end - share.n : 0);
	}
	free(seen);
}

static void resume_goes_on_where_it_stopped(void **state)
{
	(void)state;
	struct share eight = {.n = 1000, .batch_size = 16, .world = 8, .last = LAST_SHORT};
	struct cursor cursor = {5, 0, 2};
	uint64_t epoch, position;
	share_resume(&eight, &cursor, &epoch, &position);
	assert_int_equal(epoch, 5);
	assert_int_equal(position, 3 * 128);
	/* The rest with six ranks begins exactly there. */
	struct share six = {.n = 1000, .batch_size = 16, .world = 6, .last = LAST_SHORT};
	struct cursor rest = {epoch, position, 0};
	assert_int_equal(share_span(&six, &rest).position, 384);
	/* Behind the last batch comes the next epoch. */
	cursor.batch = 7;
	share_resume(&eight, &cursor, &epoch, &position);
	assert_int_equal(epoch, 6);
	assert_int_equal(position, 0);
}

static void drop_skips_the_tail(void **state)
{
	(void)state;
	struct share share = {.n = 100, .batch_size = 32, .world = 1, .last = LAST_DROP};
	struct cursor cursor = {0, 0, 2};
	uint64_t epoch, position;
	share_resume(&share, &cursor, &epoch, &position);
	assert_int_equal(epoch, 1);
	assert_int_equal(position, 0);
	share_advance(&share, &cursor);
	assert_int_equal(cursor.epoch, 1);
	assert_int_equal(cursor.batch, 0);
	/* Entered in the tail there is no batch left: the next epoch begins. */
	struct cursor tail = {4, 90, 0};
	share_settle(&share, &tail);
	assert_int_equal(tail.epoch, 5);
	assert_int_equal(tail.origin, 0);
}

static void a_share_may_be_empty(void **state)
{
	(void)state;
	struct share share = {.n = 10, .batch_size = 16, .rank = 1, .world = 2, .last = LAST_SHORT};
	assert_int_equal(share_batches(&share, 0), 0);
	share.last = LAST_PAD;
	assert_int_equal(share_batches(&share, 0), 1);
	struct cursor cursor = {0, 0, 0};
	struct batch_span span = share_span(&share, &cursor);
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
		struct share share = {.batch_size = 1 + next_random(&random) % 9,
				      .world = 1 + next_random(&random) % 4,
				      .last = LAST_WRAP};
		uint64_t global = share_global_batch(&share);
		share.n = global + next_random(&random) % 40;
		share.rank = next_random(&random) % share.world;
		uint64_t n = share.n, at = next_random(&random) % n; /* counted from epoch 5 on */
		struct cursor cursor = {5, at, 0};
		share_settle(&share, &cursor);
		for (int i = 0; i < 60; i++, at += global) {
			uint64_t first = at + share.rank * share.batch_size, epoch, position;
			assert_int_equal(cursor.epoch, 5 + at / n);
			struct batch_span span = share_span(&share, &cursor);
			assert_int_equal(span.position, first - at / n * n);
			assert_int_equal(span.count, share.batch_size);
			assert_int_equal(share_ordinal(&share, &cursor, n), 5 * n + first);
			for (uint64_t k = 0; k < span.count; k++) {
				struct place place =
					share_place(&share, cursor.epoch, span.position + k);
				assert_int_equal(place.epoch, 5 + (first + k) / n);
				assert_int_equal(place.position, (first + k) % n);
				assert_int_equal(place.epoch > cursor.epoch,
						 k >= span.count - span.wrapped);
			}
			share_resume(&share, &cursor, &epoch, &position);
			assert_int_equal(epoch, 5 + (at + global) / n);
			assert_int_equal(position, (at + global) % n);
			share_advance(&share, &cursor);
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
		struct share share = {.batch_size = 1 + next_random(&random) % 7,
				      .world = 1 + next_random(&random) % 3,
				      .last = (enum last_batch)(next_random(&random) % 4)};
		share.n = share_global_batch(&share) + next_random(&random) % 30;
		share.rank = next_random(&random) % share.world;
		struct cursor cursor = {2, next_random(&random) % share.n, 0}, at;
		uint64_t end = 3 + next_random(&random) % 3, extent = 2 * share.n;
		share_settle(&share, &cursor);
		for (unsigned i = next_random(&random) % 4; i > 0; i--)
			share_advance(&share, &cursor);
		bool *has = calloc(12 * extent, sizeof(*has));
		assert_non_null(has);
		for (at = cursor; at.epoch < end; share_advance(&share, &at)) {
			struct batch_span span = share_span(&share, &at);
			for (uint64_t k = 0; k < span.count; k++) {
				struct place place =
					share_place(&share, at.epoch, span.position + k);
				has[place.epoch * extent + place.position] = true;
			}
		}
		for (uint64_t epoch = 0; epoch < 12; epoch++)
			for (uint64_t p = 0; p < extent; p++)
				assert_int_equal(share_has(&share, &cursor, end, epoch, p),
						 has[epoch * extent + p]);
		free(has);
	}
}

static void wrapped_batches_need_epochs_without_a_gap(void **state)
{
	(void)state;
	struct share share = {.n = 21, .batch_size = 8, .world = 1, .last = LAST_WRAP};
	assert_int_equal(share_stride(&share, 0), 21);
	assert_false(share_fits(&share, 0, 24));
	share.last = LAST_SHORT;
	assert_int_equal(share_stride(&share, 0), 24);
	assert_true(share_fits(&share, 0, 21) && share_fits(&share, 0, 24));
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
