/* SPDX-License-Identifier: MIT */
/*
 * The order "shards" of an epoch, for storage that seeks badly: a keyed bijection over [0, n),
 * position -> index, that goes through one shard after the other. The shards are shuffled, then the
 * positions within each window of so many. docs/order.md has the formula; every part of it is an
 * order of base/order.h.
 *
 * Where shards begin in an epoch's order is a table, made again in O(shards) when another epoch is
 * asked for; of two epochs it is kept. So one thread at a time. A position then costs O(log
 * shards).
 */
#ifndef STOKER_BASE_SHARD_ORDER_H
#define STOKER_BASE_SHARD_ORDER_H

#include <stddef.h>
#include <stdint.h>

struct shard_order;

/* Shard i has the indices [first[i], first[i + 1]), which may be none; `first` has shards + 1
 * entries, rising from 0 to n > 0, and is copied. `window` > 0. 0 or -ENOMEM. */
int shard_order_new(struct shard_order **out, const uint64_t *first, uint32_t shards,
		    uint64_t window);
/* Another one, for another thread. 0 or -ENOMEM. */
int shard_order_copy(struct shard_order **out, const struct shard_order *order);
void shard_order_free(struct shard_order *order); /* NULL does nothing */
size_t shard_order_bytes(const struct shard_order *order);
uint64_t shard_order_window(const struct shard_order *order);

/* `position` < n. */
uint64_t shard_order_at(struct shard_order *order, uint64_t seed, uint32_t epoch,
			uint64_t position);
/* The inverse: the position of `index` (< n). */
uint64_t shard_order_find(struct shard_order *order, uint64_t seed, uint32_t epoch, uint64_t index);

#endif
