// SPDX-License-Identifier: MIT
/* A rank's share of an epoch: every position exactly once, whatever the world size. */
#include <stdlib.h>
#include <string.h>

#include "loop/state/share.h"
#include "sampler/bucket_order.h"
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

/* -- buckets ------------------------------------------------------------------------------ */

#define BUCKETS 5
#define RANKS 3

static struct bucket_order *make_buckets(unsigned *random, uint64_t count, uint64_t run)
{
	uint8_t bucket[N_MAX];
	for (uint64_t i = 0; i < count; i++) /* uneven */
		bucket[i] = (uint8_t)(next_random(random) % BUCKETS *
				      (next_random(random) % BUCKETS) / BUCKETS);
	const struct bucket_order_spec spec = {.run = run,
					       .shuffle = next_random(random) % 4 != 0,
					       .seed = next_random(random),
					       .buckets = BUCKETS,
					       .bucket = bucket,
					       .count = count};
	struct bucket_order *order;
	assert_int_equal(bucket_order_new(&order, &spec), 0);
	return order;
}

/* Is this position one of its run's samples, and not a repetition behind them? */
static bool is_sample(const struct bucket_order *order, uint32_t epoch, uint64_t position)
{
	return position % bucket_order_run_length(order) <
	       bucket_order_run(order, epoch, position).samples;
}

/* Go through two epochs, from `at` on, with all ranks in step; `seen` counts samples of the first.
 */
static void walk(struct share share, const struct cursor *from, unsigned *seen)
{
	struct cursor at[RANKS];
	uint64_t batches = 0, run = bucket_order_run_length(share.buckets);
	for (uint64_t r = 0; r < share.world; r++)
		at[r] = *from;
	for (; at[0].epoch < from->epoch + 2; batches++) {
		uint64_t epochs[RANKS], positions[RANKS], first = 0, count = 0;
		for (share.rank = 0; share.rank < share.world; share.rank++) {
			struct cursor *own = &at[share.rank];
			struct batch_span span = share_span(&share, own);
			uint64_t last = span.position + span.count - 1;
			first = share.rank ? first : span.position / run;
			count = share.rank ? count : span.count;
			assert_int_equal(span.position / run, first); /* of one shape, ... */
			assert_int_equal(last / run, first);
			assert_int_equal(span.count, count); /* ... and as many */
			for (uint64_t p = span.position; p <= last; p++) {
				bool padded = p > last - span.padded;
				assert_int_equal(
					padded, !is_sample(share.buckets, (uint32_t)own->epoch, p));
				seen[p] += own->epoch == from->epoch && !padded;
				assert_true(share_has(&share, own, own->epoch + 1, own->epoch, p));
			}
			share_resume(&share, own, &epochs[share.rank], &positions[share.rank]);
			assert_int_equal(epochs[share.rank], epochs[0]);
			assert_int_equal(positions[share.rank], positions[0]);
			share_advance(&share, own);
			struct cursor again = {epochs[0], positions[0], 0};
			share_settle(&share, &again);
			assert_int_equal(again.epoch, own->epoch);
			assert_int_equal(share_span(&share, &again).position,
					 share_span(&share, own).position);
		}
	}
	if (from->origin == 0)
		assert_int_equal(batches, 2 * share_batches(&share, 0));
}

static void a_step_has_one_bucket(void **state)
{
	(void)state;
	unsigned random = 3, *seen = calloc(4 * N_MAX, sizeof(*seen));
	assert_non_null(seen);
	for (int round = 0; round < 300; round++) {
		struct share share = {.batch_size = 1 + next_random(&random) % 7,
				      .world = 1 + next_random(&random) % RANKS,
				      .last = (enum last_batch)(next_random(&random) % LAST_WRAP)};
		uint64_t global = share_global_batch(&share);
		uint64_t count = 60 + next_random(&random) % 200;
		struct bucket_order *order =
			make_buckets(&random, count, global * (1 + next_random(&random) % 3));
		share.buckets = order;
		share.n = bucket_order_positions(order);
		struct cursor cursor = {4, 0, 0};
		memset(seen, 0, sizeof(*seen) * 4 * N_MAX);
		if (share_batches(&share, 0) > 0) {
			share_settle(&share, &cursor);
			walk(share, &cursor, seen);
			for (uint64_t p = 0; p < share.n && share.last != LAST_DROP; p++)
				assert_int_equal(seen[p], is_sample(order, 4, p));
		}
		bucket_order_free(order);
	}
	free(seen);
}

/* One that another world size left goes on at the same sample, if what is left of a run allows it.
 */
static void a_run_is_entered_between_batches(void **state)
{
	(void)state;
	unsigned random = 5, *seen = calloc(4 * N_MAX, sizeof(*seen));
	struct bucket_order *order = make_buckets(&random, 200, 24);
	struct share share = {
		.n = bucket_order_positions(order), .batch_size = 4, .world = 2, .buckets = order};
	assert_non_null(seen);
	assert_true(share_may_enter(&share, 8) && share_may_enter(&share, 24));
	assert_false(share_may_enter(&share, 12));
	share.world = 3;
	assert_true(share_may_enter(&share, 12));
	struct cursor cursor = {4, 12, 0};
	share_settle(&share, &cursor);
	walk(share, &cursor, seen);
	for (uint64_t p = 0; p < share.n; p++)
		assert_int_equal(seen[p], p >= 12 && is_sample(order, 4, p));
	bucket_order_free(order);
	free(seen);
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
		cmocka_unit_test(a_step_has_one_bucket),
		cmocka_unit_test(a_run_is_entered_between_batches),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
