// SPDX-License-Identifier: MIT
/*
 * The whitening matrix, by its effect: the covariance of samples multiplied by it is the identity,
 * in as many directions as there are samples.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "statistics/whiten.h"
#include "tests/unit/test.h"

/* A random generator that is the same everywhere. */
static double random_number(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (double)(*state >> 11) * 0x1p-53 - 0.5;
}

#define SIZE 51
#define SAMPLES 400

/* A covariance of samples some of whose numbers are nearly equal to their neighbours. */
static void make_covariance(double *out, uint32_t samples)
{
	static double numbers[SAMPLES][SIZE];
	uint64_t state = 3;
	for (uint32_t k = 0; k < samples; k++)
		for (uint32_t i = 0; i < SIZE; i++)
			numbers[k][i] =
				50.0 * random_number(&state) + (i ? 0.9 * numbers[k][i - 1] : 0.0);
	for (uint32_t i = 0; i < SIZE; i++) {
		for (uint32_t j = 0; j <= i; j++) {
			double sum = 0.0;
			for (uint32_t k = 0; k < samples; k++)
				sum += numbers[k][i] * numbers[k][j];
			out[i * SIZE + j] = out[j * SIZE + i] = sum / samples;
		}
	}
}

static void multiply(const double *a, const double *b, double *out)
{
	for (uint32_t i = 0; i < SIZE; i++) {
		for (uint32_t j = 0; j < SIZE; j++) {
			out[i * SIZE + j] = 0.0;
			for (uint32_t k = 0; k < SIZE; k++)
				out[i * SIZE + j] += a[i * SIZE + k] * b[k * SIZE + j];
		}
	}
}

static void whiten(uint32_t samples, double scale, float *out, double *matrix, double *covariance)
{
	double given[SIZE * SIZE];
	make_covariance(covariance, samples);
	memcpy(given, covariance, sizeof(given));
	assert_int_equal(whiten_make(given, SIZE, samples, scale, 1e-9, out), 0);
	for (uint32_t i = 0; i < SIZE * SIZE; i++)
		matrix[i] = (double)out[i];
	for (uint32_t i = 0; i < SIZE; i++)
		for (uint32_t j = 0; j < i; j++)
			assert_true(out[i * SIZE + j] == out[j * SIZE + i]);
}

/* The covariance of whitened samples is the identity. */
static void test_whitens(void **state)
{
	static double covariance[SIZE * SIZE], matrix[SIZE * SIZE], half[SIZE * SIZE],
		whole[SIZE * SIZE];
	static const double scales[] = {1.0, 1.0 / 255.0, -2.0};
	static float out[SIZE * SIZE];
	(void)state;
	for (unsigned k = 0; k < 3; k++) {
		whiten(SAMPLES, scales[k], out, matrix, covariance);
		multiply(matrix, covariance, half);
		multiply(half, matrix, whole);
		for (uint32_t i = 0; i < SIZE * SIZE; i++)
			assert_true(fabs(whole[i] * scales[k] * scales[k] - (i % (SIZE + 1) == 0)) <
				    1e-4);
	}
}

/* With fewer samples than numbers there are only as many directions as samples. */
static void test_directions(void **state)
{
	static double covariance[SIZE * SIZE], matrix[SIZE * SIZE], half[SIZE * SIZE],
		whole[SIZE * SIZE];
	static float out[SIZE * SIZE];
	double trace = 0.0;
	(void)state;
	whiten(20, 1.0, out, matrix, covariance);
	multiply(matrix, covariance, half);
	multiply(half, matrix, whole);
	for (uint32_t i = 0; i < SIZE; i++)
		trace += whole[i * SIZE + i];
	assert_true(fabs(trace - 20.0) < 1e-3);
}

static void test_nothing_to_whiten(void **state)
{
	static double zeros[SIZE * SIZE];
	static float out[SIZE * SIZE];
	(void)state;
	assert_int_equal(whiten_make(zeros, SIZE, 10, 1.0, 1e-6, out), WHITEN_E_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whitens),
		cmocka_unit_test(test_directions),
		cmocka_unit_test(test_nothing_to_whiten),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
