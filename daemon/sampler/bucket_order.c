// SPDX-License-Identifier: MIT
#include "sampler/bucket_order.h"

#include <errno.h>
#include <stdlib.h>

#include "base/order.h"

/* A bucket's part of the entries and of the runs; one more than there are ends the last. */
struct bucket_begin {
	uint64_t entry, run;
};

#define EPOCHS 2 /* a ring's window may reach into the next epoch */

/* The orders of one epoch, each made when it is asked for first. */
struct bucket_epoch {
	bool made;
	uint32_t epoch;
	struct order runs;
	struct order *bucket; /* owned: of its entries; n is 0 until it is made */
	/* The run that was asked for last. */
	uint64_t position;
	struct bucket_run run;
};

struct bucket_order {
	uint64_t run, seed;
	bool shuffle;
	uint32_t buckets;
	struct bucket_begin *begin; /* owned */
	uint32_t *sample;	    /* owned: of each entry */
	struct digest hash;
	struct bucket_epoch *epochs; /* owned */
};

void bucket_order_free(struct bucket_order *order)
{
	if (!order)
		return;
	for (unsigned i = 0; order->epochs && i < EPOCHS; i++)
		free(order->epochs[i].bucket);
	free(order->epochs);
	free(order->begin);
	free(order->sample);
	free(order);
}

static void count_entries(struct bucket_order *order, const struct bucket_order_spec *spec)
{
	struct bucket_begin *begin = order->begin;
	for (uint64_t i = 0; i < spec->count; i++)
		begin[spec->bucket[i] + 1].entry++;
	for (uint32_t i = 0; i < order->buckets; i++) {
		uint64_t count = begin[i + 1].entry;
		begin[i + 1].run = begin[i].run + count / order->run + (count % order->run != 0);
		begin[i + 1].entry += begin[i].entry;
	}
}

/* Sort the samples by bucket; those of a bucket stay in their order. */
static int sort_samples(struct bucket_order *order, const struct bucket_order_spec *spec)
{
	uint64_t *next = malloc(order->buckets * sizeof(*next));
	if (!next)
		return -ENOMEM;
	for (uint32_t i = 0; i < order->buckets; i++)
		next[i] = order->begin[i].entry;
	for (uint64_t i = 0; i < spec->count; i++)
		order->sample[next[spec->bucket[i]]++] =
			spec->sample ? spec->sample[i] : (uint32_t)(spec->first + i);
	free(next);
	return 0;
}

static struct digest hash_of(const struct bucket_order *order)
{
	const struct {
		struct digest begin, samples;
		uint64_t run;
	} all = {
		digest_of(order->begin, (order->buckets + 1) * sizeof(*order->begin)),
		digest_of(order->sample,
			  order->begin[order->buckets].entry * sizeof(*order->sample)),
		order->run,
	};
	return digest_of(&all, sizeof(all));
}

static int make_epochs(struct bucket_order *order)
{
	order->epochs = calloc(EPOCHS, sizeof(*order->epochs));
	for (unsigned i = 0; order->epochs && i < EPOCHS; i++) {
		order->epochs[i].bucket = calloc(order->buckets, sizeof(*order->epochs[i].bucket));
		if (!order->epochs[i].bucket)
			return -ENOMEM;
	}
	return order->epochs ? 0 : -ENOMEM;
}

int bucket_order_new(struct bucket_order **out, const struct bucket_order_spec *spec)
{
	struct bucket_order *order = calloc(1, sizeof(*order));
	if (!order)
		return -ENOMEM;
	order->run = spec->run;
	order->seed = spec->seed;
	order->shuffle = spec->shuffle;
	order->buckets = spec->buckets;
	order->begin = calloc((size_t)spec->buckets + 1, sizeof(*order->begin));
	order->sample = malloc(spec->count * sizeof(*order->sample));
	int r = order->begin && order->sample ? make_epochs(order) : -ENOMEM;
	if (r == 0) {
		count_entries(order, spec);
		r = sort_samples(order, spec);
	}
	if (r) {
		bucket_order_free(order);
		return r;
	}
	order->hash = hash_of(order);
	*out = order;
	return 0;
}

size_t bucket_order_bytes(const struct bucket_order *order)
{
	return sizeof(*order) + (order->buckets + 1) * sizeof(*order->begin) +
	       order->begin[order->buckets].entry * sizeof(*order->sample);
}

struct digest bucket_order_hash(const struct bucket_order *order)
{
	return order->hash;
}

static uint64_t order_runs(const struct bucket_order *order)
{
	return order->begin[order->buckets].run;
}

uint64_t bucket_order_positions(const struct bucket_order *order)
{
	return order_runs(order) * order->run;
}

uint64_t bucket_order_run_length(const struct bucket_order *order)
{
	return order->run;
}

uint32_t bucket_order_buckets(const struct bucket_order *order)
{
	return order->buckets;
}

uint64_t bucket_order_count(const struct bucket_order *order, uint32_t bucket)
{
	return order->begin[bucket + 1].entry - order->begin[bucket].entry;
}

uint64_t bucket_order_first(const struct bucket_order *order, uint32_t bucket)
{
	return order->begin[bucket].entry;
}

static struct bucket_epoch *epoch_of(const struct bucket_order *order, uint32_t epoch)
{
	struct bucket_epoch *own = &order->epochs[epoch % EPOCHS];
	if (own->made && own->epoch == epoch)
		return own;
	own->made = true;
	own->epoch = epoch;
	own->position = UINT64_MAX;
	order_init(&own->runs, order_seed_for(order->seed, ORDER_RUNS, epoch, 0), epoch,
		   order_runs(order));
	for (uint32_t i = 0; i < order->buckets; i++)
		own->bucket[i].n = 0;
	return own;
}

/* The run at this place of an epoch's runs. */
static struct bucket_run run_at(const struct bucket_order *order, const struct bucket_epoch *epoch,
				uint64_t place)
{
	uint64_t run = order->shuffle ? order_get(&epoch->runs, place) : place;
	uint32_t low = 0, high = order->buckets;
	while (high - low > 1) { /* the last bucket that begins at or before the run */
		uint32_t middle = low + (high - low) / 2;
		if (order->begin[middle].run <= run)
			low = middle;
		else
			high = middle;
	}
	uint64_t number = run - order->begin[low].run;
	uint64_t rest = bucket_order_count(order, low) - number * order->run;
	return (struct bucket_run){low, number, rest < order->run ? rest : order->run};
}

struct bucket_run bucket_order_run(const struct bucket_order *order, uint32_t epoch,
				   uint64_t position)
{
	struct bucket_epoch *own = epoch_of(order, epoch);
	if (own->position != position / order->run) {
		own->position = position / order->run;
		own->run = run_at(order, own, own->position);
	}
	return own->run;
}

uint64_t bucket_order_entry(const struct bucket_order *order, uint32_t epoch, uint64_t position)
{
	const struct bucket_run run = bucket_order_run(order, epoch, position);
	uint64_t count = bucket_order_count(order, run.bucket);
	uint64_t place = (run.number * order->run + position % order->run) % count;
	struct order *own = &epoch_of(order, epoch)->bucket[run.bucket];
	if (order->shuffle && own->n == 0)
		order_init(own, order_seed_for(order->seed, ORDER_BUCKET, epoch, run.bucket), epoch,
			   count);
	if (order->shuffle)
		place = order_get(own, place);
	return order->begin[run.bucket].entry + place;
}

uint32_t bucket_order_sample(const struct bucket_order *order, uint64_t entry)
{
	return order->sample[entry];
}
