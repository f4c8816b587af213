// SPDX-License-Identifier: MIT
#include "base/cpu.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[CPU_COUNT] = {
	[CPU_PLAIN] = "plain",
#if defined(__aarch64__)
	[CPU_NEON] = "neon",
#else
	[CPU_AVX2] = "avx2",
	[CPU_AVX512] = "avx512",
#endif
};

#if defined(__x86_64__)

#include <cpuid.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Not every compiler's __builtin_cpu_supports() knows "f16c". */
static bool has_f16c(void)
{
	unsigned a, b, c, d;
	return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

static enum cpu cpu_ask(void)
{
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !has_f16c())
		return CPU_PLAIN;
	if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
	    !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl") ||
	    !__builtin_cpu_supports("avx512vbmi") || !__builtin_cpu_supports("avx512vbmi2") ||
	    !__builtin_cpu_supports("avx512vnni"))
		return CPU_AVX2;
	return CPU_AVX512;
}

/* Asked once: cpuid leaves a virtual machine, for ten microseconds. */
enum cpu cpu_machine(void)
{
	static atomic_int known = -1;
	int cpu = atomic_load_explicit(&known, memory_order_relaxed);
	if (cpu < 0) {
		cpu = (int)cpu_ask();
		atomic_store_explicit(&known, cpu, memory_order_relaxed);
	}
	return (enum cpu)cpu;
}

#elif defined(__aarch64__)

enum cpu cpu_machine(void)
{
	return CPU_NEON;
}

#else

enum cpu cpu_machine(void)
{
	return CPU_PLAIN;
}

#endif

enum cpu cpu_most(void)
{
	const char *most = getenv("STOKER_CPU");
	for (enum cpu cpu = CPU_PLAIN; most && cpu < CPU_COUNT; cpu++) {
		if (strcmp(most, names[cpu]) == 0)
			return cpu;
	}
	return CPU_COUNT - 1;
}

enum cpu cpu_best(void)
{
	enum cpu machine = cpu_machine(), most = cpu_most();
	return machine < most ? machine : most;
}

const char *cpu_name(enum cpu cpu)
{
	return names[cpu];
}
