/* SPDX-License-Identifier: MIT */
/*
 * The instruction sets that loops over pixels have versions for, and the choice between them at run
 * time. The bytes do not depend on it. Any thread.
 */
#ifndef STOKER_BASE_CPU_H
#define STOKER_BASE_CPU_H

enum cpu {
	CPU_PLAIN,
	CPU_AVX2,   /* and what has always come with it: FMA, F16C */
	CPU_AVX512, /* F, BW, DQ, VL, VBMI, VBMI2, VNNI: Ice Lake, Zen 4 and later */
};

/* STOKER_CPU=plain or avx2 in the environment allows no more than that, which is for tests and for
 * finding out what is wrong. */
enum cpu cpu_most(void);
/* The best that is allowed and that this machine can run. */
enum cpu cpu_best(void);
const char *cpu_name(enum cpu cpu);

#endif
