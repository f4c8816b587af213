// SPDX-License-Identifier: MIT
#include "base/philox.h"

struct philox philox(uint64_t key, const uint32_t counter[4])
{
	uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
	uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
	for (int round = 0; round < 10; round++) {
		uint64_t a = (uint64_t)0xD2511F53u * c0;
		uint64_t b = (uint64_t)0xCD9E8D57u * c2;
		c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
		c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
		c1 = (uint32_t)b;
		c3 = (uint32_t)a;
		k0 += 0x9E3779B9u;
		k1 += 0xBB67AE85u;
	}
	return (struct philox){{c0, c1, c2, c3}};
}

static uint64_t draw_bits(const struct draw_key *key, uint32_t draw)
{
	const uint32_t counter[4] = {draw, key->epoch, (uint32_t)key->position,
				     (uint32_t)(key->position >> 32)};
	struct philox bits = philox(key->seed, counter);
	return (uint64_t)bits.word[1] << 32 | bits.word[0];
}

struct draw_key draw_view(const struct draw_key *key, uint32_t view)
{
	struct draw_key out = *key;
	out.position += (uint64_t)view << 56;
	return out;
}

double draw_uniform(const struct draw_key *key, uint32_t draw)
{
	return (double)(draw_bits(key, draw) >> 11) * 0x1p-53;
}

/* The upper half of a 128-bit product, from 32-bit halves. */
static uint64_t multiply_high(uint64_t a, uint64_t b)
{
	uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
	uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
	uint64_t carry = a0 * b1 + (uint32_t)middle;
	return a1 * b1 + (middle >> 32) + (carry >> 32);
}

uint64_t draw_below(const struct draw_key *key, uint32_t draw, uint64_t bound)
{
	return multiply_high(draw_bits(key, draw), bound);
}
