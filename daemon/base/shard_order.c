// SPDX-License-Identifier: MIT
#include "base/shard_order.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

#define TABLES 2 /* a ring's window may reach into the next epoch */

/* The shards of one epoch, in their order. */
struct shard_table {
	bool made;
	uint64_t seed;
	uint32_t epoch;
	uint32_t *shard; /* owned */
	uint64_t *start; /* owned: the place of the first sample of each; at the end: n */
};

struct shard_order {
	uint32_t shards;
	uint64_t window;
	uint64_t *first; /* owned */
	unsigned turn;	 /* the table to make next */
	struct shard_table tables[TABLES];
};

void shard_order_free(struct shard_order *order)
{
	if (!order)
		return;
	for (unsigned i = 0; i < TABLES; i++) {
		free(order->tables[i].shard);
		free(order->tables[i].start);
	}
	free(order->first);
	free(order);
}

int shard_order_new(struct shard_order **out, const uint64_t *first, uint32_t shards,
		    uint64_t window)
{
	struct shard_order *order = calloc(1, sizeof(*order));
	if (!order)
		return -ENOMEM;
	size_t bytes = ((size_t)shards + 1) * sizeof(*first);
	order->shards = shards;
	order->window = window;
	order->first = malloc(bytes);
	bool whole = order->first;
	for (unsigned i = 0; i < TABLES; i++) {
		order->tables[i].shard = malloc(shards * sizeof(uint32_t));
		order->tables[i].start = malloc(bytes);
		whole = whole && order->tables[i].shard && order->tables[i].start;
	}
	if (!whole) {
		shard_order_free(order);
		return -ENOMEM;
	}
	memcpy(order->first, first, bytes);
	*out = order;
	return 0;
}

int shard_order_copy(struct shard_order **out, const struct shard_order *order)
{
	return shard_order_new(out, order->first, order->shards, order->window);
}

size_t shard_order_bytes(const struct shard_order *order)
{
	size_t each = sizeof(uint64_t) + TABLES * (sizeof(uint64_t) + sizeof(uint32_t));
	return sizeof(*order) + order->shards * each;
}

uint64_t shard_order_window(const struct shard_order *order)
{
	return order->window;
}

/* The seed of the order of the shards themselves. */
static uint64_t shards_seed(uint64_t seed, uint32_t epoch)
{
	return order_seed_for(seed, ORDER_SHARDS, epoch, 0);
}

static const struct shard_table *table_of(struct shard_order *order, uint64_t seed, uint32_t epoch)
{
	for (unsigned i = 0; i < TABLES; i++) {
		const struct shard_table *table = &order->tables[i];
		if (table->made && table->seed == seed && table->epoch == epoch)
			return table;
	}
	struct shard_table *table = &order->tables[order->turn];
	uint64_t own = shards_seed(seed, epoch), at = 0;
	order->turn = (order->turn + 1) % TABLES;
	for (uint32_t rank = 0; rank < order->shards; rank++) {
		uint32_t shard = (uint32_t)order_at(own, epoch, order->shards, rank);
		table->shard[rank] = shard;
		table->start[rank] = at;
		at += order->first[shard + 1] - order->first[shard];
	}
	table->start[order->shards] = at;
	table->made = true;
	table->seed = seed;
	table->epoch = epoch;
	return table;
}

/* The window that a position is in: where it begins, how long it is, and the seed of its order. */
struct window {
	uint64_t begin, size, seed;
};

static struct window window_of(const struct shard_order *order, uint64_t seed, uint32_t epoch,
			       uint64_t position)
{
	uint64_t number = position / order->window, begin = number * order->window;
	uint64_t rest = order->first[order->shards] - begin;
	return (struct window){begin, rest < order->window ? rest : order->window,
			       order_seed_for(seed, ORDER_WINDOW, epoch, number)};
}

uint64_t shard_order_at(struct shard_order *order, uint64_t seed, uint32_t epoch, uint64_t position)
{
	const struct shard_table *table = table_of(order, seed, epoch);
	const struct window window = window_of(order, seed, epoch, position);
	uint64_t place =
		window.begin + order_at(window.seed, epoch, window.size, position - window.begin);
	uint32_t low = 0, high = order->shards;
	while (high - low > 1) { /* the last shard that starts at or before the place */
		uint32_t middle = low + (high - low) / 2;
		if (table->start[middle] <= place)
			low = middle;
		else
			high = middle;
	}
	return order->first[table->shard[low]] + place - table->start[low];
}

uint64_t shard_order_find(struct shard_order *order, uint64_t seed, uint32_t epoch, uint64_t index)
{
	const struct shard_table *table = table_of(order, seed, epoch);
	uint32_t low = 0, high = order->shards;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (order->first[middle] <= index)
			low = middle;
		else
			high = middle;
	}
	uint64_t rank = order_find(shards_seed(seed, epoch), epoch, order->shards, low);
	uint64_t place = table->start[rank] + index - order->first[low];
	const struct window window = window_of(order, seed, epoch, place);
	return window.begin + order_find(window.seed, epoch, window.size, place - window.begin);
}
