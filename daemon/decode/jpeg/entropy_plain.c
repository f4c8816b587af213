// SPDX-License-Identifier: MIT
#include "decode/jpeg/entropy_plain.h"

#include "decode/jpeg/entropy_loop.h"
#include "decode/jpeg/skim_loop.h"

/* Zigzag order: the position in the block of each coefficient. */
static const uint8_t natural[64] = {
	0,  1,	8,  16, 9,  2,	3,  10, 17, 24, 32, 25, 18, 11, 4,  5,	12, 19, 26, 33, 40, 48,
	41, 34, 27, 20, 13, 6,	7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
	30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
};

static void plain_skim(const struct skim *skim, struct skim_run *runs, unsigned count)
{
	skim_loop(skim, runs, count);
}

static void plain_decode(const uint8_t *bytes, struct entropy_stream *streams, unsigned count)
{
	loop_run(bytes, streams, count);
}

static void plain_reorder(int16_t *from, int16_t *const *to, unsigned blocks)
{
	for (unsigned i = 0; i < blocks; i++, from += 64) {
		for (int k = 0; k < 64; k++)
			to[i][natural[k]] = from[k];
		memset(from, 0, 128);
	}
}

const struct entropy_kernel entropy_plain = {"plain", plain_skim, plain_decode, plain_reorder};
