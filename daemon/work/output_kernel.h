/* SPDX-License-Identifier: MIT */
/* Rows to the array, by instruction set; output.c chooses. Immutable; any thread. */
#ifndef STOKER_WORK_OUTPUT_KERNEL_H
#define STOKER_WORK_OUTPUT_KERNEL_H

#include "work/output.h"

/* 1/255 as the sum of two floats: of each byte's product the rounded sum is byte / 255. */
#define OUTPUT_UNIT ((float)(1.0 / 255.0))
#define OUTPUT_UNIT_REST ((float)(1.0 / 255.0 - (double)OUTPUT_UNIT))

/* NULL: nothing better than plain C for this one. */
output_row *output_avx2_row(const struct output *output);
void output_avx2_end(void);

#endif
