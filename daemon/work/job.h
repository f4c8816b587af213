/* SPDX-License-Identifier: MIT */
/*
 * Job: make one sample and write it into one slot. The loop fills in the inputs and hands the job
 * to the pool; a fetch thread reads the bytes, a worker makes the sample; the loop gets the job
 * back with its outcome. One thread owns it at a time: the loop, then the pool, then the loop
 * again. What the job points at outlives it.
 *
 * Jobs of the same sample may share its decode: they form a chain, linked by `sharer`, which the
 * pool handles as its first job, and whose file is read and decoded once. Each has its own
 * transforms, slot, outcome and owner, and the bytes that it would have without the others.
 */
#ifndef STOKER_WORK_JOB_H
#define STOKER_WORK_JOB_H

#include "base/cancel.h"
#include "base/fault.h"
#include "base/philox.h"
#include "dataset/dataset.h"
#include "decode/decode.h"
#include "decode/jpeg/seek_index_set.h"
#include "fields/fields.h"
#include "sampler/bucket_order.h"
#include "sampler/sampler.h"
#include "stage/stage.h"
#include "statistics/moments.h"
#include "transform/pipeline.h"
#include "work/outcome.h"
#include "work/source.h"

struct job;
struct sample_kit;

/* The result of a job that only indexes a file, if its outcome is JOB_DONE. */
enum job_index_result {
	JOB_INDEXED = 0,
	/* 1 and up: SEEK_INDEX_E_..., why there is no index */
	JOB_INDEX_FULL = SEEK_INDEX_REASONS, /* no memory left for one */
	JOB_NOT_JPEG,
	JOB_INDEX_RESULTS,
};

/* Purpose of a job: a row of the table in sample.h. */
struct purpose {
	void (*run)(struct job *job, struct sample_kit *kit); /* on a worker */
	bool has_slot;	 /* it writes a sample into a slot of a ring */
	bool only_keeps; /* it makes nothing of the pixels */
	bool copies;	 /* it has no pixels: arrays of a record */
	bool maps;	 /* the user's code stands amid the transforms */
};

/* Recipe: facts that the jobs of one stream have in common. */
struct job_recipe {
	const struct purpose *purpose;
	const struct dataset *dataset;
	const struct pipeline *pipeline; /* NULL: the purpose is to index */
	struct moments *moments;	 /* the samples are added to it, if they are measured */
	struct fields fields;
	struct seek_index_set *seek_indexes; /* the dataset's; NULL: none are used */
	struct keeper keeper;		     /* of what is kept of the dataset's samples */
	struct stage_set *staged;	     /* the dataset's; NULL: nothing is staged */
	struct decode_limits limits;
	size_t max_bytes;
	bool exif;
	/* The stream's samples, by entry from 0 to count: those of the sampler, or, if it is NULL,
	 * [first, first + count) of the dataset. */
	const struct sampler *sampler;
	uint64_t first, count;
	/* Or those of one bucket: `count` entries of this order from `begin` on. NULL: no buckets.
	 */
	const struct bucket_order *buckets;
	uint64_t begin;
	unsigned substitutes; /* how many neighbours are tried in place of a bad sample; 0: none */
};

#define JOB_SHARERS_MAX 16
#define JOB_PARTNERS_MAX (TILES - 1)

/* Partner: another sample that a sample is joined with. The inputs are those of the chain. */
struct partner {
	struct draw_key key;
	uint64_t entry;
	struct input own, mask;
};

struct job {
	struct job *next;   /* the owner's, for a list */
	struct job *sharer; /* the next job of the chain, of at most JOB_SHARERS_MAX */

	const struct job_recipe *recipe;
	struct draw_key key;
	uint64_t sample, entry;
	void *owner;		     /* the loop's, to know it again: a ring ... */
	uint32_t slot;		     /* ... and one of its slots */
	const atomic_bool *unwanted; /* the loop sets it; NULL: it is wanted in any case */
	void *flow;		     /* the loop's, too: the flow that pays for it */
	uint64_t cost_ns;	     /* expected time of a worker; 0: not known */
	void *group, *producer;	     /* the loop's: who made the record of its sample ... */
	unsigned failures;	     /* ... how often that failed ... */
	uint64_t maker;		     /* ... the number of who made the last one ... */
	uint64_t needed;	     /* ... and bytes that it is known to take */
	uint32_t larger;	     /* JOB_LARGER: the field that has no room ... */
	uint64_t larger_bytes;	     /* ... for so many bytes of numbers */

	/* The inputs of the chain. Its first job has them, for all. */
	struct supply supply; /* what producers make for it */
	struct input own;     /* the sample */
	struct input mask;    /* the mask of the sample, if a job of the chain has that field */
	unsigned partners;    /* of `partner`, whose inputs are in use */
	struct tile tile;     /* of a mosaic: where in it the sample stands */

	enum job_outcome outcome;
	bool decoded;	  /* a file was decoded for the chain: no picture was kept */
	bool clips;	  /* ... which is grey of 16 bits, clipped to 8 */
	bool shared;	  /* it used the decode of the chain's first job */
	bool substituted; /* `sample` is bad and `used` was taken instead; fault says why */
	bool stored;	  /* only kept: in the end its picture is on the disk */
	uint64_t used;	  /* the sample that is in the slot */
	struct fault fault;
	uint64_t fetch_ns, work_ns;	 /* time spent on it by a fetch thread and by a worker */
	uint64_t transform_ns;		 /* of work_ns: from pixels to the slots, the whole chain */
	uint64_t ordered_ns, fetched_ns; /* when it was submitted, its bytes were read ... */
	uint64_t made_ns;		 /* ... and a worker was done with the chain */
	struct stage_reads staged;	 /* reads of the chain (its first job has them) */

	unsigned index_result; /* enum job_index_result ... */
	uint64_t index_bytes;  /* ... and the size of the index */

	/* Last, since most jobs use little of them, and threads hand on the cache lines in use: */
	void *field[SEGMENT_FIELDS_MAX]; /* the slot: one entry of each field's array */
	/* The samples that it is joined with, fields.partners of the job in the chain that has
	 * most.
	 */
	struct partner partner[JOB_PARTNERS_MAX];
};

static inline uint64_t job_sample(const struct job_recipe *recipe, uint64_t entry)
{
	if (recipe->buckets)
		return bucket_order_sample(recipe->buckets, entry);
	return recipe->sampler ? sampler_sample(recipe->sampler, entry) : recipe->first + entry;
}

/* Does an epoch go through all samples from first to last, or in an order of base/order.h? */
static inline bool job_has_course(const struct job_recipe *recipe)
{
	return !recipe->sampler && !recipe->buckets;
}

static inline bool job_is_unwanted(const struct job *job)
{
	return cancel_is_unwanted(job->unwanted);
}

/* Does `owner` own the job, or a job behind it in its chain? */
static inline bool job_is_of(const struct job *job, const void *owner)
{
	while (job && job->owner != owner)
		job = job->sharer;
	return job;
}

#endif
