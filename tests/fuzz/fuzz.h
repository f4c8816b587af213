/* SPDX-License-Identifier: MIT */
/*
 * The head of the function in fuzz_NAME.c that takes any bytes: FUZZ_TARGET(NAME). libFuzzer's
 * program has one such function, of a name that libFuzzer knows; a program that replays the
 * corpus has many, each called fuzz_NAME.
 */
#ifndef STOKER_TESTS_FUZZ_H
#define STOKER_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#ifdef FUZZ_ONE
#define FUZZ_FUNCTION(name) int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
#else
#define FUZZ_FUNCTION(name) int fuzz_##name(const uint8_t *data, size_t size)
#endif

#define FUZZ_TARGET(name)                                                                          \
	FUZZ_FUNCTION(name);                                                                       \
	FUZZ_FUNCTION(name)

#endif
