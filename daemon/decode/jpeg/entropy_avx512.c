// SPDX-License-Identifier: MIT
/* Compiled with AVX-512BW: a block is two registers, and two instructions reorder it. */
#include <immintrin.h>

#include "decode/jpeg/entropy_loop.h"
#include "decode/jpeg/entropy_plain.h"
#include "decode/jpeg/skim_loop.h"

/* For each position in a block, which coefficient of the zigzag order it gets. */
static const _Alignas(64) uint16_t zigzag[64] = {
	0,  1,	5,  6,	14, 15, 27, 28, 2,  4,	7,  13, 16, 26, 29, 42, 3,  8,	12, 17, 25, 30,
	41, 43, 9,  11, 18, 24, 31, 40, 44, 53, 10, 19, 23, 32, 39, 45, 52, 54, 20, 22, 33, 38,
	46, 51, 55, 60, 21, 34, 37, 47, 50, 56, 59, 61, 35, 36, 48, 49, 57, 58, 62, 63,
};

static void avx512_skim(const struct skim *skim, struct skim_run *runs, unsigned count)
{
	skim_loop(skim, runs, count);
}

static void avx512_decode(const uint8_t *bytes, struct entropy_stream *streams, unsigned count)
{
	loop_run(bytes, streams, count);
}

static void avx512_reorder(int16_t *from, int16_t *const *to, unsigned blocks)
{
	const __m512i upper = _mm512_load_si512(zigzag), lower = _mm512_load_si512(zigzag + 32);
	for (unsigned i = 0; i < blocks; i++, from += 64) {
		__m512i a = _mm512_load_si512(from), b = _mm512_load_si512(from + 32);
		_mm512_storeu_si512(to[i], _mm512_permutex2var_epi16(a, upper, b));
		_mm512_storeu_si512(to[i] + 32, _mm512_permutex2var_epi16(a, lower, b));
		_mm512_store_si512(from, _mm512_setzero_si512());
		_mm512_store_si512(from + 32, _mm512_setzero_si512());
	}
}

const struct entropy_kernel entropy_avx512 = {"avx512", avx512_skim, avx512_decode, avx512_reorder};
