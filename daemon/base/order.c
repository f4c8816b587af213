// SPDX-License-Identifier: MIT
#include "base/order.h"

#include "base/philox.h"

/* The round function: half the bits, mixed with the round's key. */
static uint64_t order_mix(uint64_t half, uint64_t key)
{
	uint64_t z = half ^ key; /* the finaliser of splitmix64 (Steele, Lea, Flood, 2014) */
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

/* Half the bits of the smallest domain that holds n. */
static unsigned order_half(uint64_t n)
{
	unsigned half = 1;
	while (half < 32 && ((uint64_t)1 << (2 * half)) < n)
		half++;
	return half;
}

void order_init(struct order *out, uint64_t seed, uint32_t epoch, uint64_t n)
{
	out->n = n;
	out->half = order_half(n);
	for (uint32_t i = 0; i < ORDER_ROUNDS; i += 2) {
		/* The last word keeps these counters apart from those of the samples' draws. */
		const uint32_t counter[4] = {i, epoch, 0, 0xFFFFFFFFu};
		struct philox bits = philox(seed, counter);
		out->key[i] = (uint64_t)bits.word[1] << 32 | bits.word[0];
		out->key[i + 1] = (uint64_t)bits.word[3] << 32 | bits.word[2];
	}
}

uint64_t order_get(const struct order *order, uint64_t position)
{
	const unsigned half = order->half;
	const uint64_t mask = ((uint64_t)1 << half) - 1;
	uint64_t at = position;
	do { /* the domain is less than 4n: less than four iterations on average */
		uint64_t left = at >> half, right = at & mask;
		for (int i = 0; i < ORDER_ROUNDS; i++) {
			uint64_t next = left ^ (order_mix(right, order->key[i]) & mask);
			left = right;
			right = next;
		}
		at = left << half | right;
	} while (at >= order->n);
	return at;
}

uint64_t order_at(uint64_t seed, uint32_t epoch, uint64_t n, uint64_t position)
{
	struct order order;
	order_init(&order, seed, epoch, n);
	return order_get(&order, position);
}

uint64_t order_find(uint64_t seed, uint32_t epoch, uint64_t n, uint64_t index)
{
	struct order order;
	order_init(&order, seed, epoch, n);
	const unsigned half = order.half;
	const uint64_t mask = ((uint64_t)1 << half) - 1;
	uint64_t at = index;
	do { /* the same walk backwards; its steps are outside [0, n), too */
		uint64_t left = at >> half, right = at & mask;
		for (int i = ORDER_ROUNDS - 1; i >= 0; i--) {
			uint64_t before = right ^ (order_mix(left, order.key[i]) & mask);
			right = left;
			left = before;
		}
		at = left << half | right;
	} while (at >= n);
	return at;
}

uint64_t order_seed_for(uint64_t seed, enum order_purpose purpose, uint32_t epoch, uint64_t number)
{
	/* Apart from the counters of order_keys() and of the samples' draws. */
	const uint32_t counter[4] = {(uint32_t)number, epoch, (uint32_t)(number >> 32),
				     0xFFFFFFFEu - (uint32_t)purpose};
	struct philox bits = philox(seed, counter);
	return (uint64_t)bits.word[1] << 32 | bits.word[0];
}
