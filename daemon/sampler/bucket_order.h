/* SPDX-License-Identifier: MIT */
/*
 * The order of an epoch whose samples are of several sizes (buckets): consecutive positions are
 * runs of one size. Each bucket's samples are shuffled by a keyed permutation and cut into runs of
 * equal length; the runs of all buckets are shuffled by another one. So any position is found in
 * O(log buckets) without a table of the order, in any epoch. The last run of a bucket may have
 * fewer samples than positions; at what is left over the bucket's samples come again, from its
 * first on. docs/order.md has the formula.
 *
 * Owns the samples sorted by bucket, 4 bytes each, and what the orders of two epochs have in
 * common. One thread at a time asks for places; any thread for an entry's sample. Knows no picture
 * and no batch.
 */
#ifndef STOKER_SAMPLER_BUCKET_ORDER_H
#define STOKER_SAMPLER_BUCKET_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"

struct bucket_order;

struct bucket_order_spec {
	uint64_t run; /* length of a run, > 0 */
	bool shuffle; /* else bucket by bucket, each in the order in which its samples came */
	uint64_t seed;
	uint32_t buckets;	/* > 0 */
	const uint8_t *bucket;	/* of each entry, below `buckets` */
	const uint32_t *sample; /* of each entry; NULL: `first` and those behind it */
	uint64_t first;
	uint64_t count; /* of entries, > 0 */
};

/* 0 or -ENOMEM. What the spec points to is the caller's. */
int bucket_order_new(struct bucket_order **out, const struct bucket_order_spec *spec);
void bucket_order_free(struct bucket_order *order); /* NULL does nothing */
size_t bucket_order_bytes(const struct bucket_order *order);
/* Equal for orders that give the same samples at all positions of all epochs of one seed. */
struct digest bucket_order_hash(const struct bucket_order *order);

/* Positions of an epoch: whole runs. Never more than entries + buckets * run. */
uint64_t bucket_order_positions(const struct bucket_order *order);
uint64_t bucket_order_run_length(const struct bucket_order *order);
uint32_t bucket_order_buckets(const struct bucket_order *order);
uint64_t bucket_order_count(const struct bucket_order *order, uint32_t bucket);
/* The entries of a bucket are its first one and those behind it. */
uint64_t bucket_order_first(const struct bucket_order *order, uint32_t bucket);

struct bucket_run {
	uint32_t bucket;
	uint64_t number;  /* among the runs of its bucket */
	uint64_t samples; /* from 1 to the length of a run */
};

/* The run that `position` is in. */
struct bucket_run bucket_order_run(const struct bucket_order *order, uint32_t epoch,
				   uint64_t position);
/* The entry at `position`. */
uint64_t bucket_order_entry(const struct bucket_order *order, uint32_t epoch, uint64_t position);
uint32_t bucket_order_sample(const struct bucket_order *order, uint64_t entry);

#endif
