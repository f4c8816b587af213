/* SPDX-License-Identifier: MIT */
/* Rows to the array, for each instruction set; output.c chooses. Immutable; any thread. */
#ifndef STOKER_TRANSFORM_KERNELS_OUTPUT_KERNEL_H
#define STOKER_TRANSFORM_KERNELS_OUTPUT_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "transform/output.h"

#define OUTPUT_LINE 64 /* bytes of a cache line */

/* 1/255 as the sum of two floats: for each byte, the rounded sum of both products is byte / 255. */
#define OUTPUT_UNIT ((float)(1.0 / 255.0))
#define OUTPUT_UNIT_REST ((float)(1.0 / 255.0 - (double)OUTPUT_UNIT))

/* NULL: nothing faster than the plainer one for this output. */
output_row *output_avx2_row(const struct output *output);
output_row *output_avx512_row(const struct output *output);
output_row *output_neon_row(const struct output *output);
void output_avx2_end(void);

/* Is a row (of planes: each of its three rows) whole cache lines? */
static inline bool output_streams(const struct output *output, const void *array)
{
	uint64_t bytes = output_bytes(output->type, output->width, 1);
	if (output->planes)
		bytes /= 3;
	return bytes % OUTPUT_LINE == 0 && (uintptr_t)array % OUTPUT_LINE == 0;
}

#endif
