/* SPDX-License-Identifier: MIT */
/*
 * ZCA whitening: the matrix that makes the numbers of centred samples uncorrelated and of deviation
 * 1, and the samples as little different as that can be. As Keras' fit(): of the singular values s
 * and vectors u of all n centred samples, u diag(sqrt(n) / (s + epsilon)) u'. Directions in which
 * no sample moves from the mean are left out: the matrix takes them away.
 *
 * The door to LAPACK and BLAS. Any thread; takes seconds to minutes.
 */
#ifndef STOKER_STATISTICS_WHITEN_H
#define STOKER_STATISTICS_WHITEN_H

#include <stdbool.h>
#include <stdint.h>

enum {
	WHITEN_E_NONE = 1, /* the eigenvalues did not converge, or there is nothing to whiten */
};

/*
 * `covariance`: size x size, the mean of the products of two centred numbers, at least
 * [i * size + j] for j <= i; it is written over. `samples` were in it; they are to be multiplied by
 * `scale` before they are whitened. `out` is size x size, and symmetric. 0, WHITEN_E_NONE or
 * -ENOMEM.
 */
int whiten_make(double *covariance, uint32_t size, uint64_t samples, double scale, double epsilon,
		float *out);
uint64_t whiten_bytes(uint32_t size); /* of memory, while it runs */

/* `numbers` times the matrix, in float32; every sum in the same order on every machine. */
void whiten_run(const float *matrix, uint32_t size, const float *numbers, float *out);

#endif
