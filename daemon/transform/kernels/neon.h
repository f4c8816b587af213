/* SPDX-License-Identifier: MIT */
/* Parts that the kernels for NEON share. */
#ifndef STOKER_TRANSFORM_KERNELS_NEON_H
#define STOKER_TRANSFORM_KERNELS_NEON_H

#include <arm_neon.h>

#define INLINE static inline __attribute__((always_inline))

/* Bytes 4i to 4i + 3 as numbers of 32 bits: a place beyond the register gives zero. */
INLINE uint32x4_t bytes_widen(uint8x16_t bytes, uint8_t i)
{
	static const uint8_t places[16] = {0, 64, 64, 64, 1, 64, 64, 64,
					   2, 64, 64, 64, 3, 64, 64, 64};
	uint8x16_t from = vaddq_u8(vld1q_u8(places), vdupq_n_u8((uint8_t)(4 * i)));
	return vreinterpretq_u32_u8(vqtbl1q_u8(bytes, from));
}

#endif
