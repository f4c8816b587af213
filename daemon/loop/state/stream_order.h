/* SPDX-License-Identifier: MIT */
/* The order of a stream: which sample stands where, and with which draws and fields. Plain data. */
#ifndef STOKER_LOOP_STATE_STREAM_ORDER_H
#define STOKER_LOOP_STATE_STREAM_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/shard_order.h"
#include "fields/fields.h"
#include "sampler/sampler.h"

struct bucket_forms;
struct code;

struct stream_order {
	bool shuffle;
	uint64_t order_seed, augment_seed;
	uint64_t first, count;	 /* samples of the dataset: [first, first + count), or what ... */
	struct sampler *sampler; /* ... this gives of all of them; NULL: none; the stream's own */
	uint64_t window; /* of the order "shards": so many are shuffled as one; 0: all are ... */
	struct shard_order *shards; /* ... and this is NULL; the stream's own */
	struct bucket_forms *forms; /* by bucket; NULL: all samples have one size; the stream's own
				     */
	uint32_t echo;		    /* each of an epoch's samples so many times ... */
	uint64_t echo_window;	    /* ... spread over so many samples' times; see base/echo.h */
	uint32_t views;		    /* pictures of a sample side by side; draws of their own */
	bool substitute, exif;
	struct code *map; /* held: that runs amid the transforms (Map); NULL: none */
	struct fields fields;
};

#endif
