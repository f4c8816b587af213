/* SPDX-License-Identifier: MIT */
/*
 * The kernels of entropy_kernel.h, one for each instruction set: for entropy_kernel.c, which
 * chooses one. Immutable; any thread.
 */
#ifndef STOKER_DECODE_JPEG_ENTROPY_PLAIN_H
#define STOKER_DECODE_JPEG_ENTROPY_PLAIN_H

#include "decode/jpeg/entropy_kernel.h"

extern const struct entropy_kernel entropy_plain;
extern const struct entropy_kernel entropy_avx2;   /* AVX2, BMI1, BMI2 */
extern const struct entropy_kernel entropy_avx512; /* and AVX-512BW */
extern const struct entropy_kernel entropy_neon;

#endif
