/* SPDX-License-Identifier: MIT */
/*
 * The head of the function in fuzz_NAME.c that takes any bytes: FUZZ_TARGET(NAME). libFuzzer's
 * program has one such function, of a name that libFuzzer knows; a program that replays the
 * corpus has many, each called fuzz_NAME. What does not hold ends the program, which is how a
 * fuzzer finds it.
 */
#ifndef STOKER_TESTS_FUZZ_H
#define STOKER_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef FUZZ_ONE
#define FUZZ_FUNCTION(name) int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
#else
#define FUZZ_FUNCTION(name) int fuzz_##name(const uint8_t *data, size_t size)
#endif

#define FUZZ_TARGET(name)                                                                          \
	FUZZ_FUNCTION(name);                                                                       \
	FUZZ_FUNCTION(name)

/* End the program unless it holds. */
static inline void must(bool holds)
{
	if (!holds)
		abort();
}

/* The same, with words that say what should hold. */
static inline void require(bool holds, const char *what)
{
	if (holds)
		return;
	(void)fprintf(stderr, "not so: %s\n", what);
	abort();
}

#endif
