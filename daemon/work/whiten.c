// SPDX-License-Identifier: MIT
#include "work/whiten.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "work/eigen.h"

#define STRIP 1024 /* sums at a time, which stay near */

uint64_t whiten_bytes(uint32_t size)
{
	return sizeof(double) * (eigen_numbers(size) + 16 * (uint64_t)size);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The least value that counts is above this: not more do than there are samples. */
static int find_least(const double *values, uint32_t size, uint64_t samples, double *out)
{
	double *sorted = malloc(sizeof(*sorted) * size);
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, values, sizeof(*sorted) * size);
	qsort(sorted, size, sizeof(*sorted), by_value);
	double most = sorted[size - 1];
	*out = most * size * DBL_EPSILON;
	if (samples < size)
		*out = fmax(*out, sorted[size - samples - 1]);
	free(sorted);
	return most > 0.0 ? 0 : WHITEN_E_NONE;
}

/* The values become the roots of their vectors' weights. */
static int weigh(double *values, uint32_t size, uint64_t samples, double scale, double epsilon)
{
	const double n = (double)samples;
	double least;
	int r = find_least(values, size, samples, &least);
	for (uint32_t k = 0; r == 0 && k < size; k++) {
		double singular = values[k] > least ? fabs(scale) * sqrt(n * values[k]) : 0.0;
		values[k] = values[k] > least ? sqrt(sqrt(n) / (singular + epsilon)) : 0.0;
	}
	return r;
}

/* Row k of all strips. */
static void scale_vectors(double *vectors, const double *by, uint32_t size)
{
	for (uint32_t j = 0; j < size; j += EIGEN_WIDE)
		for (uint32_t k = 0; k < size; k++)
			for (unsigned l = 0; l < EIGEN_WIDE; l++)
				vectors[eigen_at(size, k, j + l)] *= by[k];
}

/* Of two strips' columns, and what is across the diagonal. */
static void put_tile(double tile[EIGEN_WIDE][EIGEN_WIDE], uint32_t i, uint32_t j,
		     uint32_t size, float *out)
{
	for (uint32_t a = 0; a < EIGEN_WIDE && i + a < size; a++)
		for (uint32_t b = 0; b < EIGEN_WIDE && j + b < size; b++)
			out[(size_t)(i + a) * size + j + b] = out[(size_t)(j + b) * size + i + a] =
				(float)tile[a][b];
}

static int make_product(const double *vectors, uint32_t size, const atomic_bool *stop, float *out)
{
	const struct eigen_loops *loops = eigen_loops();
	double tile[EIGEN_WIDE][EIGEN_WIDE];
	for (uint32_t i = 0; i < size; i += EIGEN_WIDE) {
		const double *strip = vectors + eigen_at(size, 0, i);
		for (uint32_t j = 0; j <= i; j += EIGEN_WIDE) {
			if (atomic_load(stop))
				return WHITEN_E_STOPPED;
			loops->multiply(strip, vectors + eigen_at(size, 0, j), size, tile);
			put_tile(tile, i, j, size, out);
		}
	}
	return 0;
}

int whiten_make(double *covariance, uint32_t size, uint64_t samples, double scale, double epsilon,
		const atomic_bool *stop, float *out)
{
	double *values = malloc(sizeof(*values) * size);
	double *vectors = malloc(sizeof(*vectors) * eigen_numbers(size));
	int r = values && vectors ? eigen_solve(covariance, size, values, vectors, stop) : -ENOMEM;
	if (r > 0)
		r = r == EIGEN_E_STOPPED ? WHITEN_E_STOPPED : WHITEN_E_NONE;
	if (r == 0)
		r = weigh(values, size, samples, scale, epsilon);
	if (r == 0) {
		scale_vectors(vectors, values, size);
		r = make_product(vectors, size, stop, out);
	}
	free(vectors);
	free(values);
	return r;
}

void whiten_run(const float *matrix, uint32_t size, const float *numbers, float *out)
{
	memset(out, 0, sizeof(*out) * size);
	for (uint32_t at = 0; at < size; at += STRIP) {
		uint32_t end = at + STRIP < size ? at + STRIP : size;
		for (uint32_t j = 0; j < size; j++) {
			const float *row = matrix + (size_t)j * size;
			const float x = numbers[j];
			for (uint32_t i = at; i < end; i++)
				out[i] += x * row[i];
		}
	}
}
