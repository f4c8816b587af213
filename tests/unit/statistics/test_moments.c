// SPDX-License-Identifier: MIT
/*
 * Moments compared with sums computed one number after the other: various lengths and numbers of
 * samples, any order, several threads, each instruction set. All are exact.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "statistics/moments.h"
#include "tests/unit/test.h"

#define THREADS 5

struct samples {
	uint32_t length, count;
	uint8_t *numbers;
};

/* Neighbouring numbers are similar; the first sample is all 255, the second all 0. */
static struct samples make_samples(uint32_t length, uint32_t count)
{
	struct samples samples = {length, count, malloc((size_t)length * count)};
	uint32_t state = length * 7919 + count;
	assert_non_null(samples.numbers);
	for (size_t i = 0; i < (size_t)length * count; i++) {
		state = state * 1664525 + 1013904223;
		samples.numbers[i] = (uint8_t)(i / length == 0	 ? 255
					       : i / length == 1 ? 0
								 : (state >> 24) / 2 + i % 120);
	}
	return samples;
}

static void add(struct moments *moments, const struct samples *samples, uint32_t from,
		uint32_t step)
{
	for (uint32_t k = from; k < samples->count; k += step)
		assert_int_equal(
			moments_add(moments, samples->numbers + (size_t)k * samples->length), 0);
}

/* In doubles, which are exact for integers of this size. */
static double naive(const struct samples *samples, uint32_t i, uint32_t j)
{
	double sum = 0.0;
	for (uint32_t k = 0; k < samples->count; k++) {
		const uint8_t *numbers = samples->numbers + (size_t)k * samples->length;
		sum += (double)numbers[i] * (j == UINT32_MAX ? 1.0 : (double)numbers[j]);
	}
	return sum;
}

static void check_numbers(struct moments *moments, const struct samples *samples,
			  enum moments_of of)
{
	const uint32_t length = samples->length;
	assert_int_equal(moments_samples(moments), samples->count);
	for (uint32_t i = 0; i < length; i++) {
		assert_true((double)moments_sums(moments)[i] == naive(samples, i, UINT32_MAX));
		assert_true((double)moments_squares(moments)[i] == naive(samples, i, i));
		for (uint32_t j = 0; of == MOMENTS_OF_PRODUCTS && j <= i; j++)
			assert_true((double)moments_products(moments)[i * length + j] ==
				    naive(samples, i, j));
	}
}

static void check_channels(const struct moments *moments, const struct samples *samples)
{
	for (uint32_t k = 0; k < 3; k++) {
		double sum = 0.0, square = 0.0;
		for (uint32_t i = k; i < samples->length; i += 3) {
			sum += naive(samples, i, UINT32_MAX);
			square += naive(samples, i, i);
		}
		assert_true((double)moments_sums(moments)[k] == sum);
		assert_true((double)moments_squares(moments)[k] == square);
	}
}

static void check(uint32_t length, uint32_t count, enum moments_of of)
{
	struct samples samples = make_samples(length, count);
	struct moments *moments;
	assert_int_equal(moments_new(&moments, length, of), 0);
	add(moments, &samples, 0, 1);
	assert_int_equal(moments_end(moments), 0);
	if (of == MOMENTS_OF_CHANNELS)
		check_channels(moments, &samples);
	else
		check_numbers(moments, &samples, of);
	moments_free(moments);
	free(samples.numbers);
}

/* Lengths around the size of a tile, numbers of samples around that of a block. */
static void test_naive(void **state)
{
	static const uint32_t lengths[] = {3, 30, 33, 99}, counts[] = {1, 2, 255, 256, 257, 700};
	(void)state;
	for (enum cpu cpu = CPU_PLAIN; cpu <= CPU_PLAIN + 1; cpu++) {
		assert_int_equal(setenv("STOKER_CPU", cpu_name(cpu), 1), 0);
		for (enum moments_of of = MOMENTS_OF_CHANNELS; of <= MOMENTS_OF_PRODUCTS; of++)
			for (unsigned i = 0; i < 4 * 6; i++)
				check(lengths[i % 4], counts[i / 4], of);
	}
	unsetenv("STOKER_CPU");
}

struct share {
	struct moments *moments;
	const struct samples *samples;
	uint32_t from;
};

static void *add_share(void *context)
{
	struct share *share = context;
	add(share->moments, share->samples, share->from, THREADS);
	return NULL;
}

/* Each thread adds every fifth sample, in no particular order. */
static void test_threads(void **state)
{
	struct samples samples = make_samples(99, 1100);
	struct moments *moments;
	struct share shares[THREADS];
	pthread_t threads[THREADS];
	(void)state;
	assert_int_equal(moments_new(&moments, samples.length, MOMENTS_OF_PRODUCTS), 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		shares[i] = (struct share){.moments = moments, .samples = &samples, .from = i};
		assert_int_equal(pthread_create(&threads[i], NULL, add_share, &shares[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(moments_end(moments), 0);
	check_numbers(moments, &samples, MOMENTS_OF_PRODUCTS);
	moments_free(moments);
	free(samples.numbers);
}

/* The largest products that a block can have. */
static void test_brightest(void **state)
{
	uint8_t numbers[6];
	struct moments *moments;
	(void)state;
	memset(numbers, 255, sizeof(numbers));
	assert_int_equal(moments_new(&moments, 6, MOMENTS_OF_PRODUCTS), 0);
	for (unsigned k = 0; k < 100000; k++)
		assert_int_equal(moments_add(moments, numbers), 0);
	assert_int_equal(moments_end(moments), 0);
	for (unsigned i = 0; i < 6; i++)
		for (unsigned j = 0; j <= i; j++)
			assert_int_equal(moments_products(moments)[i * 6 + j],
					 (int64_t)100000 * 255 * 255);
	moments_free(moments);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_naive),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_brightest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
