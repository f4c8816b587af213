/* SPDX-License-Identifier: MIT */
/*
 * Eigen: values and vectors of a symmetric matrix. Householder's mirrors make it tridiagonal, QL
 * with implicit shifts does the rest. What a library gives depends on its version, and it cannot be
 * stopped; this gives the same bits on every machine, for it adds, multiplies, divides and takes
 * roots only, each time in the same order.
 *
 * Any thread; 3,072 x 3,072 take some tens of seconds.
 */
#ifndef STOKER_WORK_EIGEN_H
#define STOKER_WORK_EIGEN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "work/eigen_loops.h"

enum {
	EIGEN_E_NONE = 1, /* it does not converge */
	EIGEN_E_STOPPED,
};

/* Vectors stand in strips of EIGEN_WIDE of their numbers: number j of vector k. The last strip has
 * zeros behind the last numbers. */
static inline uint64_t eigen_at(uint32_t size, uint32_t k, uint32_t j)
{
	return ((uint64_t)(j / EIGEN_WIDE) * size + k) * EIGEN_WIDE + j % EIGEN_WIDE;
}
static inline uint64_t eigen_numbers(uint32_t size) /* of all vectors */
{
	return (uint64_t)(size + EIGEN_WIDE - 1) / EIGEN_WIDE * EIGEN_WIDE * size;
}

/* `matrix`: size x size, [i * size + j] for j <= i; it is written over. Values in no order. Ends
 * soon once *stop. 0, EIGEN_E_NONE, EIGEN_E_STOPPED or -ENOMEM. */
int eigen_solve(double *matrix, uint32_t size, double *values, double *vectors,
		const atomic_bool *stop);

#endif
