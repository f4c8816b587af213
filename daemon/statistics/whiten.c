// SPDX-License-Identifier: MIT
#include "statistics/whiten.h"

#include <cblas.h>
#include <errno.h>
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STRIP 1024 /* sums at a time, which stay in the cache */

uint64_t whiten_bytes(uint32_t size)
{
	/* dsyevd's workspace, and the product. */
	return sizeof(double) * (2 * (uint64_t)size * size + 8 * (uint64_t)size) +
	       sizeof(float) * (uint64_t)size * size;
}

/* Multiply each eigenvector, a column of `vectors` in the order of rising eigenvalues, by the root
 * of its weight. Returns the first one whose eigenvalue is not zero up to rounding; only those from
 * it on are multiplied. */
static uint32_t weigh(double *vectors, const double *values, uint32_t size, uint64_t samples,
		      double scale, double epsilon)
{
	const double n = (double)samples;
	double least = values[size - 1] * size * DBL_EPSILON;
	uint32_t first = samples < size ? size - (uint32_t)samples : 0;
	while (first < size && values[first] <= least)
		first++;
	for (uint32_t k = first; k < size; k++) {
		double singular = fabs(scale) * sqrt(n * values[k]);
		double root = sqrt(sqrt(n) / (singular + epsilon));
		double *column = vectors + (size_t)k * size;
		for (uint32_t i = 0; i < size; i++)
			column[i] *= root;
	}
	return first;
}

static int make_product(const double *vectors, uint32_t size, uint32_t first, float *out)
{
	const int n = (int)size;
	double *product = malloc(sizeof(*product) * size * size);
	if (!product)
		return -ENOMEM;
	cblas_dsyrk(CblasColMajor, CblasUpper, CblasNoTrans, n, n - (int)first, 1.0,
		    vectors + (size_t)first * size, n, 0.0, product, n);
	for (uint32_t i = 0; i < size; i++)
		for (uint32_t j = 0; j <= i; j++)
			out[(size_t)i * size + j] = out[(size_t)j * size + i] =
				(float)product[(size_t)i * size + j];
	free(product);
	return 0;
}

int whiten_make(double *covariance, uint32_t size, uint64_t samples, double scale, double epsilon,
		float *out)
{
	const int n = (int)size;
	double *values = malloc(sizeof(*values) * size);
	if (!values)
		return -ENOMEM;
	/* LAPACK's upper triangle by columns is our lower one by rows. */
	int r = LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'U', n, covariance, n, values);
	if (r == LAPACK_WORK_MEMORY_ERROR)
		r = -ENOMEM;
	else if (r != 0 || !(values[size - 1] > 0.0))
		r = WHITEN_E_NONE;
	if (r == 0)
		r = make_product(covariance, size,
				 weigh(covariance, values, size, samples, scale, epsilon), out);
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
