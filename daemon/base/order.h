/* SPDX-License-Identifier: MIT */
/*
 * The order of an epoch: a keyed bijection over [0, n), position -> index, without a table. It is a
 * Feistel network on the next even number of bits with cycle walking: repeated until the result is
 * below n (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002; Mitchell et al.,
 * "Bandwidth-optimal random shuffling for GPUs", 2021). Pure; any thread. O(1) memory and expected
 * time for any n.
 */
#ifndef STOKER_BASE_ORDER_H
#define STOKER_BASE_ORDER_H

#include <stdint.h>

#define ORDER_ROUNDS 8

/* The values that all positions of one order share, computed once where many are asked for. */
struct order {
	uint64_t n, key[ORDER_ROUNDS];
	unsigned half;
};
void order_init(struct order *out, uint64_t seed, uint32_t epoch, uint64_t n);
uint64_t order_get(const struct order *order, uint64_t position); /* as order_at() */

/* `position` < n. Orders of different (seed, epoch) are independent for practical purposes. */
uint64_t order_at(uint64_t seed, uint32_t epoch, uint64_t n, uint64_t position);
/* The inverse: the position of `index` (< n). */
uint64_t order_find(uint64_t seed, uint32_t epoch, uint64_t n, uint64_t index);

/* Seeds of further orders, independent of the order of `seed`. */
enum order_purpose {
	ORDER_ECHO,
	ORDER_CLASS,
	ORDER_SHARDS,
	ORDER_WINDOW,
	ORDER_RUNS,
	ORDER_BUCKET,
};
uint64_t order_seed_for(uint64_t seed, enum order_purpose purpose, uint32_t epoch, uint64_t number);

#endif
