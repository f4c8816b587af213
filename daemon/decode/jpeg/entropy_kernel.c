// SPDX-License-Identifier: MIT
#include "decode/jpeg/entropy_kernel.h"

#include "base/cpu.h"
#include "decode/jpeg/entropy_plain.h"

#if defined(__x86_64__)

static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
	       __builtin_cpu_supports("bmi2");
}

static bool has_avx512(void)
{
	return has_avx2() && __builtin_cpu_supports("avx512f") &&
	       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

const struct entropy_kernel *entropy_kernel_at(unsigned i)
{
	switch (i) {
	case 0:
		return &entropy_plain;
	case 1:
		return has_avx2() ? &entropy_avx2 : NULL;
	case 2:
		return has_avx512() ? &entropy_avx512 : NULL;
	default:
		return NULL;
	}
}

#elif defined(__aarch64__)

const struct entropy_kernel *entropy_kernel_at(unsigned i)
{
	return i == 0 ? &entropy_plain : i == 1 ? &entropy_neon : NULL;
}

#else

const struct entropy_kernel *entropy_kernel_at(unsigned i)
{
	return i == 0 ? &entropy_plain : NULL;
}

#endif

const struct entropy_kernel *entropy_kernel_best(void)
{
	const struct entropy_kernel *best = NULL, *next;
	for (unsigned i = 0; i <= cpu_most() && (next = entropy_kernel_at(i)); i++)
		best = next;
	return best;
}
