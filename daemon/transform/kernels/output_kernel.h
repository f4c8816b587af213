/* SPDX-License-Identifier: MIT */
/* Rows to the array, by instruction set; output.c chooses. Immutable; any thread. */
#ifndef STOKER_TRANSFORM_KERNELS_OUTPUT_KERNEL_H
#define STOKER_TRANSFORM_KERNELS_OUTPUT_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "transform/output.h"

#define OUTPUT_LINE 64 /* bytes, of a cache */

/* 1/255 as the sum of two floats: of each byte's product the rounded sum is byte / 255. */
#define OUTPUT_UNIT ((float)(1.0 / 255.0))
#define OUTPUT_UNIT_REST ((float)(1.0 / 255.0 - (double)OUTPUT_UNIT))

/* NULL: nothing better than the one before for this output. */
output_row *output_avx2_row(const struct output *output);
output_row *output_avx512_row(const struct output *output);
void output_avx2_end(void);

/* Whether a row begins and ends with a line of the cache; for planes, each of the three. */
static inline bool output_streams(const struct output *output, const void *array)
{
	uint64_t bytes = output_bytes(output->type, output->width, 1);
	if (output->planes)
		bytes /= 3;
	return bytes % OUTPUT_LINE == 0 && (uintptr_t)array % OUTPUT_LINE == 0;
}

#endif
