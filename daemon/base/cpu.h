/* SPDX-License-Identifier: MIT */
/*
 * The instruction sets that inner loops have versions for, and the choice of one at run time. No
 * byte of a sample depends on the choice. Any thread.
 */
#ifndef STOKER_BASE_CPU_H
#define STOKER_BASE_CPU_H

/* Instruction sets of the kind of processor that this is compiled for, each better than those
 * before it. */
enum cpu {
	CPU_PLAIN,
#if defined(__aarch64__)
	CPU_NEON, /* all such processors have it */
#else
	CPU_AVX2,   /* with FMA and F16C, which all such processors have */
	CPU_AVX512, /* F, BW, DQ, VL, VBMI, VBMI2, VNNI: Ice Lake, Zen 4 and later */
#endif
	CPU_COUNT
};

/* The best that the environment allows: STOKER_CPU, a name as cpu_name() gives it, sets a limit,
 * for tests and for debugging. */
enum cpu cpu_most(void);
enum cpu cpu_machine(void); /* the best that this machine has */
/* The best that is allowed and that this machine has. */
enum cpu cpu_best(void);
const char *cpu_name(enum cpu cpu);

#endif
