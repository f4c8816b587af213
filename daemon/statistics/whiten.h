/* SPDX-License-Identifier: MIT */
/*
 * ZCA whitening: the matrix that makes the numbers of centred samples uncorrelated with standard
 * deviation 1, while it changes the samples as little as possible. As Keras' fit():
 * u diag(sqrt(n) / (s + epsilon)) u', where s and u are the singular values and vectors of all n
 * centred samples. Directions in which all samples equal the mean are left out: the matrix maps
 * them to zero.
 *
 * The only user of LAPACK and BLAS. Any thread; takes seconds to minutes.
 */
#ifndef STOKER_STATISTICS_WHITEN_H
#define STOKER_STATISTICS_WHITEN_H

#include <stdbool.h>
#include <stdint.h>

enum {
	WHITEN_E_NONE = 1, /* the eigenvalues did not converge, or there is nothing to whiten */
};

/*
 * `covariance`: size x size, the mean of the products of two centred numbers; only [i * size + j]
 * with j <= i are used, and all is overwritten. `samples`: how many were averaged. The matrix is
 * for samples multiplied by `scale`. `out` is size x size and symmetric. 0, WHITEN_E_NONE or
 * -ENOMEM.
 */
int whiten_make(double *covariance, uint32_t size, uint64_t samples, double scale, double epsilon,
		float *out);
uint64_t whiten_bytes(uint32_t size); /* memory that whiten_make() takes */

/* `numbers` times the matrix, in float32. Sums have the same order on every machine. */
void whiten_run(const float *matrix, uint32_t size, const float *numbers, float *out);

#endif
