/* SPDX-License-Identifier: MIT */
/*
 * Bucketing: puts each sample of a stream into the bucket of its picture's size, and makes the
 * order of them. A picture without a size is in bucket 0, where it is a bad sample. Reads files:
 * blocks; any thread.
 */
#ifndef STOKER_SURVEY_BUCKETING_H
#define STOKER_SURVEY_BUCKETING_H

#include "sampler/bucket_order.h"
#include "sampler/sampler.h"
#include "survey/picture_sizes.h"

#define BUCKETS_MAX 64

struct bucketing_spec {
	uint32_t buckets; /* 0: the stream has none */
	struct image_size size[BUCKETS_MAX];
	uint64_t run;
	bool shuffle;
	uint64_t seed;
	uint64_t start, stop;	       /* the samples of the dataset, or ... */
	const struct sampler *sampler; /* ... what this gives, each once; NULL: no sampler */
	uint64_t max_bytes;	       /* for what is kept of it */
};

enum {
	BUCKETING_E_ARGUMENT = 1, /* as SAMPLER_E_ARGUMENT */
	BUCKETING_E_MEMORY,	  /* as SAMPLER_E_MEMORY */
};

/* 0, a condition or -ENOMEM. */
int bucketing_make(struct bucket_order **out, const struct bucketing_spec *spec,
		   const struct picture_sizes_spec *pictures, struct fault *fault);

#endif
