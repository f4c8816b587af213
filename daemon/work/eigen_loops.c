// SPDX-License-Identifier: MIT
#include "work/eigen_loops.h"

#include <stddef.h>

#include "work/cpu.h"

#define INLINE static inline __attribute__((always_inline))
#define EACH for (unsigned l = 0; l < 2; l++)

/* Half of what is side by side. */
typedef double half __attribute__((vector_size(32), aligned(8), may_alias));

INLINE double row_run(double *row, uint32_t count, const struct eigen_row *what, double *sums)
{
	half parts[2] = {{0}};
	uint32_t j = 0;
	for (; j + EIGEN_WIDE <= count; j += EIGEN_WIDE) {
		half *at = (half *)(row + j), *sum = (half *)(sums + j);
		const half *to = (const half *)(what->to + j);
		const half *too = (const half *)(what->too + j);
		const half *with = (const half *)(what->with + j);
		EACH
		{
			half a = at[l] - (what->x * to[l] + what->y * too[l]);
			at[l] = a;
			sum[l] += what->by * a;
			parts[l] += with[l] * a;
		}
	}
	half part = parts[0] + parts[1];
	double total = (part[0] + part[1]) + (part[2] + part[3]);
	for (; j < count; j++) {
		row[j] -= what->x * what->to[j] + what->y * what->too[j];
		sums[j] += what->by * row[j];
		total += what->with[j] * row[j];
	}
	return total;
}

INLINE void rotate_run(double *strip, uint32_t last, const struct eigen_rotation *rotations,
		       uint32_t count)
{
	half *row = (half *)(strip + (size_t)last * EIGEN_WIDE);
	half upper[2] = {row[0], row[1]};
	for (uint32_t i = 0; i < count; i++, row -= 2) {
		const double c = rotations[i].cosine, s = rotations[i].sine;
		EACH
		{
			half lower = row[(int)l - 2];
			row[l] = s * lower + c * upper[l];
			upper[l] = c * lower - s * upper[l];
		}
	}
	EACH row[l] = upper[l];
}

INLINE void mirror_run(double *vectors, const double *mirror, uint32_t count, double half_square)
{
	half *at = (half *)vectors, odd[2] = {{0}}, even[2] = {{0}};
	uint32_t j = 0;
	for (; j + 2 <= count; j += 2) {
		EACH even[l] += mirror[j] * at[2 * j + l];
		EACH odd[l] += mirror[j + 1] * at[2 * j + 2 + l];
	}
	for (; j < count; j++)
		EACH even[l] += mirror[j] * at[2 * j + l];
	EACH even[l] = (even[l] + odd[l]) / half_square;
	for (j = 0; j < count; j++)
		EACH at[2 * j + l] -= mirror[j] * even[l];
}

INLINE void multiply_run(const double *first, const double *second, uint32_t count,
			 double out[EIGEN_WIDE][EIGEN_WIDE])
{
	for (unsigned from = 0; from < EIGEN_WIDE;
	     from += 4) { /* as many as there are registers for */
		half sums[4][2] = {{{0}}};
		for (uint32_t k = 0; k < count; k++) {
			const double *a = first + (size_t)k * EIGEN_WIDE + from;
			const half *b = (const half *)(second + (size_t)k * EIGEN_WIDE);
			for (unsigned i = 0; i < 4; i++)
				EACH sums[i][l] += a[i] * b[l];
		}
		for (unsigned i = 0; i < 4; i++)
			EACH((half *)out[from + i])[l] = sums[i][l];
	}
}

#define LOOPS(name, attribute)                                                                     \
	attribute static double row_##name(double *row, uint32_t count,                            \
					   const struct eigen_row *what, double *sums)             \
	{                                                                                          \
		return row_run(row, count, what, sums);                                            \
	}                                                                                          \
	attribute static void rotate_##name(double *strip, uint32_t last,                          \
					    const struct eigen_rotation *rotations,                \
					    uint32_t count)                                        \
	{                                                                                          \
		rotate_run(strip, last, rotations, count);                                         \
	}                                                                                          \
	attribute static void mirror_##name(double *vectors, const double *mirror, uint32_t count, \
					    double half_square)                                    \
	{                                                                                          \
		mirror_run(vectors, mirror, count, half_square);                                   \
	}                                                                                          \
	attribute static void multiply_##name(const double *first, const double *second,           \
					      uint32_t count, double out[EIGEN_WIDE][EIGEN_WIDE])  \
	{                                                                                          \
		multiply_run(first, second, count, out);                                           \
	}                                                                                          \
	static const struct eigen_loops loops_##name = {row_##name, rotate_##name, mirror_##name,  \
							multiply_##name};

LOOPS(plain, )
#ifdef __x86_64__
LOOPS(avx2, __attribute__((target("avx2"))))
#else
#define loops_avx2 loops_plain
#endif

const struct eigen_loops *eigen_loops(void)
{
	return cpu_best() == CPU_PLAIN ? &loops_plain : &loops_avx2;
}
