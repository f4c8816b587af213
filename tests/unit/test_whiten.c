// SPDX-License-Identifier: MIT
/*
 * Eigenvectors by what they are: multiplied by the matrix they are multiplied by their value, and
 * they are at right angles. Then the matrix that whitens by what it does, and by its bits, which
 * are the same with each instruction set and on every machine.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/digest.h"
#include "work/eigen.h"
#include "work/whiten.h"

#define SIZE_MAX_ 150

static const atomic_bool go_on = false, stopped = true;

/* The same everywhere: no library's. */
static double random_number(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (double)(*state >> 11) * 0x1p-53 - 0.5;
}

/* -- eigen -------------------------------------------------------------------------------- */

enum kind { RANDOM, ZEROS, EQUAL, DIAGONAL, LOW_RANK, GRADED, TINY, BLOCKS, KINDS };

static double number(enum kind kind, uint32_t i, uint32_t j, uint64_t *state)
{
	double random = random_number(state);
	switch (kind) {
	case ZEROS:
		return 0.0;
	case EQUAL:
		return i == j ? 3.0 : 0.0;
	case DIAGONAL:
		return i == j ? random : 0.0;
	case LOW_RANK: /* of vectors 1, 1, 1, ... and 0, 1, 2, ... */
		return 1.0 + (double)i * (double)j;
	case GRADED:
		return random * exp2(-(double)(i + j) / 4.0);
	case TINY: /* its squares are no numbers any more */
		return random * (i % 2 || j % 2 ? 1e-170 : 1.0);
	case BLOCKS:
		return i / 3 == j / 3 ? random : 0.0;
	default:
		return random;
	}
}

static double scalar(const double *vectors, uint32_t size, uint32_t k, uint32_t l)
{
	double sum = 0.0;
	for (uint32_t j = 0; j < size; j++)
		sum += vectors[eigen_at(size, k, j)] * vectors[eigen_at(size, l, j)];
	return sum;
}

/* Everything up to rounding, which grows with the size and the largest value. */
static void check_vectors(const double *matrix, uint32_t size, const double *values,
			  const double *vectors)
{
	double most = 0.0;
	for (uint32_t i = 0; i < size * size; i++)
		most = fmax(most, fabs(matrix[i]));
	const double error = most * size * size * 1e-15;
	for (uint32_t k = 0; k < size; k++) {
		for (uint32_t l = 0; l <= k; l++)
			assert_true(fabs(scalar(vectors, size, k, l) - (k == l)) < size * 1e-14);
		for (uint32_t i = 0; i < size; i++) {
			double sum = 0.0;
			for (uint32_t j = 0; j < size; j++)
				sum += matrix[i * size + j] * vectors[eigen_at(size, k, j)];
			assert_true(fabs(sum - values[k] * vectors[eigen_at(size, k, i)]) <= error);
		}
	}
}

static void check_eigen(enum kind kind, uint32_t size)
{
	static double matrix[SIZE_MAX_ * SIZE_MAX_], given[SIZE_MAX_ * SIZE_MAX_];
	static double values[SIZE_MAX_], vectors[(SIZE_MAX_ + EIGEN_WIDE) * SIZE_MAX_];
	uint64_t state = size;
	for (uint32_t i = 0; i < size; i++) {
		for (uint32_t j = 0; j <= i; j++) {
			matrix[i * size + j] = matrix[j * size + i] = number(kind, i, j, &state);
			given[i * size + j] = matrix[i * size + j];
			if (i != j)
				given[j * size + i] = NAN; /* nobody looks there */
		}
	}
	assert_true(eigen_numbers(size) <= sizeof(vectors) / sizeof(*vectors));
	assert_int_equal(eigen_solve(given, size, values, vectors, &go_on), 0);
	check_vectors(matrix, size, values, vectors);
}

static void test_eigen(void **state)
{
	static const uint32_t sizes[] = {1, 2, 3, 8, 9, 24, 75, SIZE_MAX_};
	(void)state;
	for (enum kind kind = 0; kind < KINDS; kind++)
		for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
			check_eigen(kind, sizes[i]);
}

/* -- whiten ------------------------------------------------------------------------------- */

#define SIZE 51
#define SAMPLES 400

/* As of samples, some of whose numbers are nearly those beside them. */
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
	assert_int_equal(whiten_make(given, SIZE, samples, scale, 1e-9, &go_on, out), 0);
	for (uint32_t i = 0; i < SIZE * SIZE; i++)
		matrix[i] = (double)out[i];
	for (uint32_t i = 0; i < SIZE; i++)
		for (uint32_t j = 0; j < i; j++)
			assert_true(out[i * SIZE + j] == out[j * SIZE + i]);
}

/* The covariance of what is whitened is the identity. */
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

/* With fewer samples than numbers: as many directions are left. */
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
	assert_int_equal(whiten_make(zeros, SIZE, 10, 1.0, 1e-6, &go_on, out), WHITEN_E_NONE);
}

static void test_stopped(void **state)
{
	static double covariance[SIZE * SIZE];
	static float out[SIZE * SIZE];
	(void)state;
	make_covariance(covariance, SAMPLES);
	assert_int_equal(whiten_make(covariance, SIZE, SAMPLES, 1.0, 1e-6, &stopped, out),
			 WHITEN_E_STOPPED);
}

static void test_bits(void **state)
{
	static double covariance[SIZE * SIZE], matrix[SIZE * SIZE];
	static float out[SIZE * SIZE];
	static const char *const cpus[] = {"plain", "avx2"};
	char hex[33];
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(setenv("STOKER_CPU", cpus[i], 1), 0);
		whiten(SAMPLES, 1.0, out, matrix, covariance);
		struct digest digest = digest_of(out, sizeof(out));
		digest_hex(&digest, hex);
		assert_string_equal(hex, "9191e7f976e7f244bfd4433d2fc7635b");
	}
	unsetenv("STOKER_CPU");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_eigen),	   cmocka_unit_test(test_whitens),
		cmocka_unit_test(test_directions), cmocka_unit_test(test_nothing_to_whiten),
		cmocka_unit_test(test_stopped),	   cmocka_unit_test(test_bits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
