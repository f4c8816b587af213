// SPDX-License-Identifier: MIT
/*
 * Any bytes as an idx file: it is refused with words, or all its values can be read.
 */
#include <stdio.h>
#include <stdlib.h>

#include "dataset/arrays/idx.h"
#include "tests/fuzz/fuzz.h"

FUZZ_TARGET(idx)
{
	struct idx idx;
	struct fault fault = {""};
	int result = idx_parse(&idx, data, size, &fault);
	if ((result != 0) != (fault.text[0] != '\0')) {
		fprintf(stderr, "words if and only if it is wrong\n");
		abort();
	}
	if (result)
		return 0;
	uint64_t values = 1;
	for (uint32_t i = 0; i < idx.dims; i++)
		values *= idx.shape[i];
	uint8_t sum = 0;
	for (uint64_t i = 0; i < values; i++)
		sum ^= idx.data[i];
	__asm__ volatile("" : : "r"(sum)); /* read them all */
	return 0;
}
