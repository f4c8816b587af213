// SPDX-License-Identifier: MIT
#include "work/eigen.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOTHING 1e-280	 /* the square of what is no number of a mirror: it has too few bits */
#define TURNS_MAX 60	 /* for a value; two are usual */
#define ROTATIONS 32768u /* at a time: they and a strip stay near */
#define SWEEPS 4096u

/* A run of rotations, from row `last` down. */
struct sweep {
	uint32_t last, count;
};

struct eigen {
	uint32_t size;
	const struct eigen_loops *loops;
	const atomic_bool *stop;
	double *matrix;	 /* then the mirrors: row k has k numbers of the k-th */
	double *values;	 /* the diagonal, while there is one */
	double *vectors; /* strips */
	double *memory;
	double *beside; /* the diagonal: [k] is of rows k and k + 1 */
	double *halves; /* of the mirrors' squares; 0: there is none */
	double *sums, *rest;
	double *group; /* EIGEN_WIDE vectors, side by side */
	struct eigen_rotation *rotations;
	struct sweep *sweeps;
	uint32_t n_rotations, n_sweeps;
};

/* -- to three diagonals ------------------------------------------------------------------- */

/* Of the first k numbers of row k: what takes them to its last one alone. */
static void make_mirror(struct eigen *eigen, uint32_t k)
{
	double *row = eigen->matrix + (size_t)k * eigen->size;
	const double last = row[k - 1];
	double square = 0.0;
	for (uint32_t j = 0; j + 1 < k; j++)
		square += row[j] * row[j];
	eigen->values[k] = row[k];
	eigen->beside[k - 1] = last;
	eigen->halves[k] = 0.0;
	if (square < NOTHING)
		return;
	double length = sqrt(square + last * last);
	double to = last > 0.0 ? -length : length;
	eigen->beside[k - 1] = to;
	eigen->halves[k] = square + last * last - last * to;
	row[k - 1] = last - to;
}

/* What all rows above k lose at the next look at them. */
static void make_rest(struct eigen *eigen, uint32_t k)
{
	const double *mirror = eigen->matrix + (size_t)k * eigen->size;
	const double half = eigen->halves[k];
	double product = 0.0;
	if (half == 0.0) {
		memset(eigen->rest, 0, sizeof(*eigen->rest) * k);
		return;
	}
	for (uint32_t j = 0; j < k; j++)
		product += mirror[j] * eigen->sums[j];
	product /= half; /* whose square may be too little to be a number */
	for (uint32_t j = 0; j < k; j++)
		eigen->rest[j] = (eigen->sums[j] - 0.5 * product * mirror[j]) / half;
}

/* All rows above k lose what the mirror before left them; meanwhile they meet the k-th. */
static void meet_mirror(struct eigen *eigen, uint32_t k, const double *before)
{
	const double *mirror = eigen->matrix + (size_t)k * eigen->size;
	double *sums = eigen->sums;
	memset(sums, 0, sizeof(*sums) * k);
	for (uint32_t i = 0; i < k; i++) {
		double *row = eigen->matrix + (size_t)i * eigen->size;
		struct eigen_row what = {before[i],   eigen->rest[i], mirror[i],
					 eigen->rest, before,	      mirror};
		sums[i] += eigen->loops->row(row, i, &what, sums);
		row[i] -= 2.0 * before[i] * eigen->rest[i];
		sums[i] += row[i] * mirror[i];
	}
}

static int reduce(struct eigen *eigen)
{
	const uint32_t size = eigen->size;
	const double *before = eigen->sums; /* any numbers: the rest is zeros */
	for (uint32_t k = size - 1; k > 0; k--) {
		double *row = eigen->matrix + (size_t)k * size;
		if (atomic_load(eigen->stop))
			return EIGEN_E_STOPPED;
		for (uint32_t j = 0; j <= k; j++)
			row[j] -= before[k] * eigen->rest[j] + eigen->rest[k] * before[j];
		make_mirror(eigen, k);
		meet_mirror(eigen, k, before);
		make_rest(eigen, k);
		before = row;
	}
	eigen->values[0] = eigen->matrix[0];
	return 0;
}

/* -- to one ------------------------------------------------------------------------------- */

/* Turn the vectors as the values have been turned. */
static int flush(struct eigen *eigen)
{
	for (uint32_t j = 0; j < eigen->size; j += EIGEN_WIDE) {
		double *strip = eigen->vectors + eigen_at(eigen->size, 0, j);
		const struct eigen_rotation *rotations = eigen->rotations;
		if (atomic_load(eigen->stop))
			return EIGEN_E_STOPPED;
		for (uint32_t i = 0; i < eigen->n_sweeps; i++) {
			const struct sweep *sweep = &eigen->sweeps[i];
			eigen->loops->rotate(strip, sweep->last, rotations, sweep->count);
			rotations += sweep->count;
		}
	}
	eigen->n_rotations = eigen->n_sweeps = 0;
	return 0;
}

/* One of QL, with Wilkinson's shift, from row `last` up to `first`. */
static void sweep(struct eigen *eigen, uint32_t first, uint32_t last)
{
	double *d = eigen->values, *e = eigen->beside;
	struct sweep *now = &eigen->sweeps[eigen->n_sweeps++];
	double g = (d[first + 1] - d[first]) / (2.0 * e[first]);
	double r = sqrt(g * g + 1.0), s = 1.0, c = 1.0, p = 0.0;
	g = d[last] - d[first] + e[first] / (g + (g < 0.0 ? -r : r));
	*now = (struct sweep){.last = last};
	for (uint32_t i = last; i-- > first; now->count++) {
		double f = s * e[i], b = c * e[i];
		r = sqrt(f * f + g * g);
		e[i + 1] = r;
		if (r == 0.0) { /* it falls into two */
			d[i + 1] -= p;
			e[last] = 0.0;
			return;
		}
		s = f / r;
		c = g / r;
		g = d[i + 1] - p;
		r = (d[i] - g) * s + 2.0 * c * b;
		p = s * r;
		d[i + 1] = g + p;
		g = c * r - b;
		eigen->rotations[eigen->n_rotations++] = (struct eigen_rotation){c, s};
	}
	d[first] -= p;
	e[first] = g;
	e[last] = 0.0;
}

/* What is less than this beside the diagonal is lost in what rounding did before. */
static double nothing_of(const struct eigen *eigen)
{
	double most = 0.0;
	for (uint32_t k = 0; k < eigen->size; k++)
		most = fmax(most, fabs(eigen->values[k]) + fabs(eigen->beside[k]));
	return most * DBL_EPSILON;
}

static int converge(struct eigen *eigen)
{
	const uint32_t size = eigen->size;
	const double nothing = nothing_of(eigen);
	for (uint32_t first = 0; first < size; first++) {
		for (unsigned turn = 0;; turn++) {
			uint32_t last = first;
			while (last + 1 < size && !(fabs(eigen->beside[last]) <= nothing))
				last++;
			if (last == first)
				break;
			if (turn == TURNS_MAX)
				return EIGEN_E_NONE;
			if (eigen->n_rotations + size > ROTATIONS || eigen->n_sweeps == SWEEPS) {
				int r = flush(eigen);
				if (r)
					return r;
			}
			sweep(eigen, first, last);
		}
	}
	return flush(eigen);
}

/* -- and back ----------------------------------------------------------------------------- */

static int restore(struct eigen *eigen)
{
	const uint32_t size = eigen->size;
	for (uint32_t k = 0; k < size; k += EIGEN_WIDE) {
		uint32_t count = size - k < EIGEN_WIDE ? size - k : EIGEN_WIDE;
		double *group = eigen->group;
		for (uint32_t j = 0; j < size; j++)
			for (uint32_t l = 0; l < count; l++)
				group[j * EIGEN_WIDE + l] =
					eigen->vectors[eigen_at(size, k + l, j)];
		for (uint32_t i = 1; i < size; i++) {
			const double *mirror = eigen->matrix + (size_t)i * size;
			if (eigen->halves[i] != 0.0)
				eigen->loops->mirror(group, mirror, i, eigen->halves[i]);
		}
		for (uint32_t j = 0; j < size; j++)
			for (uint32_t l = 0; l < count; l++)
				eigen->vectors[eigen_at(size, k + l, j)] =
					group[j * EIGEN_WIDE + l];
		if (atomic_load(eigen->stop))
			return EIGEN_E_STOPPED;
	}
	return 0;
}

/* -- all ---------------------------------------------------------------------------------- */

static int eigen_alloc(struct eigen *eigen)
{
	const size_t size = eigen->size;
	eigen->memory = calloc((4 + EIGEN_WIDE) * size, sizeof(double));
	eigen->rotations = malloc((ROTATIONS + size) * sizeof(*eigen->rotations));
	eigen->sweeps = malloc(SWEEPS * sizeof(*eigen->sweeps));
	if (!eigen->memory || !eigen->rotations || !eigen->sweeps)
		return -ENOMEM;
	eigen->beside = eigen->memory;
	eigen->halves = eigen->beside + size;
	eigen->sums = eigen->halves + size;
	eigen->rest = eigen->sums + size;
	eigen->group = eigen->rest + size;
	return 0;
}

int eigen_solve(double *matrix, uint32_t size, double *values, double *vectors,
		const atomic_bool *stop)
{
	struct eigen eigen = {.size = size,
			      .loops = eigen_loops(),
			      .stop = stop,
			      .matrix = matrix,
			      .values = values,
			      .vectors = vectors};
	int r = eigen_alloc(&eigen);
	if (r == 0)
		r = reduce(&eigen);
	memset(vectors, 0, sizeof(*vectors) * eigen_numbers(size));
	for (uint32_t k = 0; k < size; k++)
		vectors[eigen_at(size, k, k)] = 1.0;
	if (r == 0)
		r = converge(&eigen);
	if (r == 0)
		r = restore(&eigen);
	free(eigen.memory);
	free(eigen.rotations);
	free(eigen.sweeps);
	return r;
}
