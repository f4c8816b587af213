/* SPDX-License-Identifier: MIT */
/*
 * The loops in which eigen.c and whiten.c spend their time. Each has a version for wider registers,
 * which adds up the same numbers in the same order: which one runs cannot be seen. Any thread.
 */
#ifndef STOKER_WORK_EIGEN_LOOPS_H
#define STOKER_WORK_EIGEN_LOOPS_H

#include <stdint.h>

#define EIGEN_WIDE 8 /* numbers side by side */

struct eigen_rotation {
	double cosine, sine;
};

/* What a row is to lose, x * to[j] + y * too[j], and what it is multiplied by then. */
struct eigen_row {
	double x, y, by;
	const double *to, *too, *with;
};

struct eigen_loops {
	/* row[j] loses what it is to lose; then sums[j] get `by` times it. Returns row * with. */
	double (*row)(double *row, uint32_t count, const struct eigen_row *what, double *sums);
	/* Turn rows `last` - 1 and `last` of a strip, then the two before, and so on. */
	void (*rotate)(double *strip, uint32_t last, const struct eigen_rotation *rotations,
		       uint32_t count);
	/* Mirror EIGEN_WIDE vectors, whose numbers are side by side, at `mirror`, half of whose
	 * square is `half`. */
	void (*mirror)(double *vectors, const double *mirror, uint32_t count, double half);
	/* The products of each two columns of two strips of `count` rows. */
	void (*multiply)(const double *first, const double *second, uint32_t count,
			 double out[EIGEN_WIDE][EIGEN_WIDE]);
};

const struct eigen_loops *eigen_loops(void); /* of this machine */

#endif
