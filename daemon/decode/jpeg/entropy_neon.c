// SPDX-License-Identifier: MIT
/* The loops of plain C, as these processors shift by any register; and look-ups of bytes among half
 * a block at once. */
#include <arm_neon.h>

#include "decode/jpeg/entropy_loop.h"
#include "decode/jpeg/entropy_plain.h"
#include "decode/jpeg/skim_loop.h"

static void neon_skim(const struct skim *skim, struct skim_run *runs, unsigned count)
{
	skim_loop(skim, runs, count);
}

static void neon_decode(const uint8_t *bytes, struct entropy_stream *streams, unsigned count)
{
	loop_run(bytes, streams, count);
}

/* For each row of a block, where its coefficients are in zigzag order, in bytes. */
#define AT(k) 2 * (k), 2 * (k) + 1
#define ROW(a, b, c, d, e, f, g, h)                                                                \
	{                                                                                          \
		AT(a), AT(b), AT(c), AT(d), AT(e), AT(f), AT(g), AT(h)                             \
	}

static const uint8_t places[8][16] = {
	ROW(0, 1, 5, 6, 14, 15, 27, 28),     ROW(2, 4, 7, 13, 16, 26, 29, 42),
	ROW(3, 8, 12, 17, 25, 30, 41, 43),   ROW(9, 11, 18, 24, 31, 40, 44, 53),
	ROW(10, 19, 23, 32, 39, 45, 52, 54), ROW(20, 22, 33, 38, 46, 51, 55, 60),
	ROW(21, 34, 37, 47, 50, 56, 59, 61), ROW(35, 36, 48, 49, 57, 58, 62, 63),
};

static void neon_reorder(int16_t *from, int16_t *const *to, unsigned blocks)
{
	for (unsigned i = 0; i < blocks; i++, from += 64) {
		const uint8_t *bytes = (const uint8_t *)from;
		const uint8x16x4_t front = vld1q_u8_x4(bytes), back = vld1q_u8_x4(bytes + 64);
		for (int row = 0; row < 8; row++) {
			/* Places of the other half are beyond this one's: they give zero, and then
			 * what was there. */
			uint8x16_t place = vld1q_u8(places[row]);
			uint8x16_t taken = vqtbl4q_u8(front, place);
			taken = vqtbx4q_u8(taken, back, vsubq_u8(place, vdupq_n_u8(64)));
			vst1q_s16(to[i] + 8 * row, vreinterpretq_s16_u8(taken));
		}
		memset(from, 0, 128);
	}
}

const struct entropy_kernel entropy_neon = {"neon", neon_skim, neon_decode, neon_reorder};
