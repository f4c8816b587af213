// SPDX-License-Identifier: MIT
/* The order of buckets: each sample once an epoch, runs of one bucket, and what a pair of buckets
 * has in known numbers. */
#include <stdlib.h>
#include <string.h>

#include "sampler/bucket.h"
#include "sampler/bucket_order.h"
#include "tests/unit/test.h"

#define COUNT_MAX 400
#define BUCKETS 5

struct samples {
	uint8_t bucket[COUNT_MAX];
	uint64_t count;
};

/* Uneven buckets, by a number; some may be empty. */
static struct samples make_samples(unsigned number)
{
	struct samples samples = {.count = 1 + number * 37 % COUNT_MAX};
	for (uint64_t i = 0; i < samples.count; i++) {
		uint64_t x = (i * 2654435761u + number) % 31;
		samples.bucket[i] = x < 15 ? 0 : x < 24 ? 3 : x < 29 ? 1 : 4;
	}
	return samples;
}

static struct bucket_order *make_order(const struct samples *samples, uint64_t run, bool shuffle)
{
	const struct bucket_order_spec spec = {.run = run,
					       .shuffle = shuffle,
					       .seed = 17,
					       .buckets = BUCKETS,
					       .bucket = samples->bucket,
					       .first = 1000,
					       .count = samples->count};
	struct bucket_order *order;
	assert_int_equal(bucket_order_new(&order, &spec), 0);
	return order;
}

/* Count each sample, and check that a run has one bucket; what is behind its samples repeats some.
 */
static void check_epoch(const struct bucket_order *order, const struct samples *samples,
			uint32_t epoch)
{
	unsigned seen[COUNT_MAX] = {0};
	uint64_t run = bucket_order_run_length(order);
	assert_int_equal(bucket_order_positions(order) % run, 0);
	for (uint64_t p = 0; p < bucket_order_positions(order); p++) {
		const struct bucket_run its = bucket_order_run(order, epoch, p);
		uint64_t entry = bucket_order_entry(order, epoch, p);
		uint64_t sample = bucket_order_sample(order, entry) - 1000;
		assert_true(sample < samples->count);
		assert_int_equal(samples->bucket[sample], its.bucket);
		assert_true(entry - bucket_order_first(order, its.bucket) <
			    bucket_order_count(order, its.bucket));
		assert_true(its.samples > 0 && its.samples <= run);
		seen[sample] += p % run < its.samples;
	}
	for (uint64_t i = 0; i < samples->count; i++)
		assert_int_equal(seen[i], 1);
}

static void each_sample_once(void **state)
{
	(void)state;
	for (unsigned number = 0; number < 120; number++) {
		const struct samples samples = make_samples(number);
		struct bucket_order *order = make_order(&samples, 1 + number % 29, number % 3 != 0);
		for (uint32_t epoch = 0; epoch < 3; epoch++)
			check_epoch(order, &samples, epoch);
		bucket_order_free(order);
	}
}

/* Equal places of two epochs, of `positions`. */
static uint64_t equal_places(const struct bucket_order *order, uint32_t a, uint32_t b)
{
	uint64_t equal = 0;
	for (uint64_t p = 0; p < bucket_order_positions(order); p++)
		equal += bucket_order_entry(order, a, p) == bucket_order_entry(order, b, p);
	return equal;
}

static void epochs_differ(void **state)
{
	(void)state;
	const struct samples samples = make_samples(10);
	struct bucket_order *order = make_order(&samples, 8, true);
	assert_true(equal_places(order, 0, 1) < bucket_order_positions(order) / 8);
	assert_int_equal(equal_places(order, 1, 1), bucket_order_positions(order));
	bucket_order_free(order);
	order = make_order(&samples, 8, false);
	assert_int_equal(equal_places(order, 0, 1), bucket_order_positions(order));
	bucket_order_free(order);
}

/* Worked out by tests/reference/sampling.py's bucket_order(). */
static void known_places(void **state)
{
	(void)state;
	const struct samples samples = {{0, 1, 0, 0, 1, 0, 0, 1}, 8};
	static const uint32_t known[2][9] = {{0, 6, 2, 4, 7, 1, 2, 3, 5},
					     {3, 2, 5, 6, 0, 3, 4, 1, 7}};
	struct bucket_order *order = make_order(&samples, 3, true);
	assert_int_equal(bucket_order_positions(order), 9);
	for (uint32_t epoch = 0; epoch < 2; epoch++)
		for (uint64_t p = 0; p < 9; p++)
			assert_int_equal(
				bucket_order_sample(order, bucket_order_entry(order, epoch, p)),
				1000 + known[epoch][p]);
	bucket_order_free(order);
}

static void hashes_differ(void **state)
{
	(void)state;
	struct samples samples = make_samples(12);
	struct bucket_order *one = make_order(&samples, 8, true);
	struct bucket_order *run = make_order(&samples, 16, true);
	samples.bucket[3] ^= 1;
	struct bucket_order *other = make_order(&samples, 8, true);
	struct digest a = bucket_order_hash(one), b = bucket_order_hash(run);
	struct digest c = bucket_order_hash(other);
	assert_false(digest_equal(&a, &b));
	assert_false(digest_equal(&a, &c));
	bucket_order_free(one);
	bucket_order_free(run);
	bucket_order_free(other);
}

/* As find_nearest_bucket() of diffusers gives them. */
static void nearest_buckets(void **state)
{
	(void)state;
	static const struct image_size sizes[] = {{512, 512}, {576, 448}, {448, 576},
						  {640, 384}, {384, 640}, {512, 512}};
	static const struct {
		struct image_size picture;
		uint32_t bucket;
	} cases[] = {
		{{500, 375}, 1}, {{375, 500}, 2},   {{1000, 1000}, 5}, {{1, 16384}, 4},
		{{3, 2}, 3},	 {{65000, 100}, 3}, {{540, 500}, 5},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(bucket_nearest(sizes, 6, cases[i].picture), cases[i].bucket);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_sample_once), cmocka_unit_test(epochs_differ),
		cmocka_unit_test(known_places),	    cmocka_unit_test(hashes_differ),
		cmocka_unit_test(nearest_buckets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
