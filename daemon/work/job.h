/* SPDX-License-Identifier: MIT */
/*
 * A job: make one sample and write it into one slot. The loop fills in the inputs and hands the job
 * to the pool; a fetch thread reads the bytes, a worker makes the sample; the loop gets the job
 * back with its outcome. One thread owns it at a time: the loop, then the pool, then the loop
 * again. What the inputs point at outlives the job.
 *
 * Jobs of the same sample may share its decode: they form a chain, linked by `sharer`, which the
 * pool handles as its first job, and whose file is read and decoded once. Each has its own
 * transforms, slot, outcome and owner, and the bytes that it would have without the others.
 */
#ifndef STOKER_WORK_JOB_H
#define STOKER_WORK_JOB_H

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/fault.h"
#include "base/philox.h"
#include "cache/picture_cache.h"
#include "dataset/dataset.h"
#include "decode/decode.h"
#include "decode/jpeg/seek_index_set.h"
#include "stage/stage.h"
#include "statistics/moments.h"
#include "transform/pipeline.h"
#include "work/field.h"
#include "work/sampler.h"

struct picture_store;

enum job_outcome {
	JOB_DONE,
	JOB_READ,      /* the bytes cannot be read */
	JOB_CHANGED,   /* the file changed since it was first read */
	JOB_FORMAT,    /* not a supported image format */
	JOB_CORRUPT,   /* damaged or cut short */
	JOB_LIMIT,     /* larger than a limit allows */
	JOB_TRANSFORM, /* a transform cannot be applied to it */
	JOB_MEMORY,    /* out of memory */
	JOB_UNWANTED,  /* nobody waits for it any more: it was not made */
};

/* The result of a job that only indexes a file, if its outcome is JOB_DONE. */
enum job_index_result {
	JOB_INDEXED = 0,
	/* 1 and up: SEEK_INDEX_E_..., why there is no index */
	JOB_INDEX_FULL = SEEK_INDEX_REASONS, /* no memory left for one */
	JOB_NOT_JPEG,
	JOB_INDEX_RESULTS,
};

/* What the jobs of one stream have in common. */
struct job_recipe {
	const struct dataset *dataset;
	const struct pipeline *pipeline; /* NULL: only index the file, into `seek_indexes` */
	struct moments *moments; /* the sample is added to it, not written to a slot; or NULL */
	bool warms;		 /* the picture is kept as decoded, and nothing is made of it */
	struct fields fields;
	struct seek_index_set *seek_indexes; /* the dataset's; NULL: none are used */
	struct picture_set *pictures; /* the dataset's that are kept as decoded; NULL: none are */
	struct picture_store *disk;   /* where such pictures are on the disk, too; or NULL */
	struct stage_set *staged;     /* the dataset's; NULL: nothing is staged */
	struct decode_limits limits;
	size_t max_bytes;
	bool exif;
	/* The stream's samples, by entry from 0 to count: those of the sampler, or, if it is NULL,
	 * [first, first + count) of the dataset. */
	const struct sampler *sampler;
	uint64_t first, count;
	unsigned substitutes; /* how many neighbours are tried in place of a bad sample; 0: none */
};

#define JOB_SHARERS_MAX 16

struct job {
	struct job *next;   /* the owner's, for a list */
	struct job *sharer; /* the next job of the chain, of at most JOB_SHARERS_MAX */

	const struct job_recipe *recipe;
	struct draw_key key;
	uint64_t sample, entry;
	struct draw_key partner_key;	 /* of the sample that it is mixed with, if it is ... */
	uint64_t partner;		 /* ... and that one's entry */
	void *field[SEGMENT_FIELDS_MAX]; /* the slot: one entry of each field's array */
	void *owner;			 /* the loop's, to know it again: a ring ... */
	uint32_t slot;			 /* ... and one of its slots */
	const atomic_bool *unwanted;	 /* the loop sets it; NULL: it is wanted in any case */
	void *flow;			 /* the loop's, too: the flow that pays for it */
	uint64_t cost_ns;		 /* expected time of a worker; 0: not known */

	enum job_outcome outcome;
	bool decoded;	  /* a file was decoded for the chain: no picture was kept */
	bool clips;	  /* ... which is grey of 16 bits, clipped to 8 */
	bool shared;	  /* it used the decode of the chain's first job */
	bool substituted; /* `sample` is bad and `used` was taken instead; fault says why */
	uint64_t used;	  /* the sample that is in the slot */
	struct fault fault;
	uint64_t fetch_ns, work_ns;	 /* time spent on it by a fetch thread and by a worker */
	uint64_t transform_ns;		 /* of work_ns: from pixels to the slots, the whole chain */
	uint64_t ordered_ns, fetched_ns; /* when it was submitted, its bytes were read ... */
	uint64_t made_ns;		 /* ... and a worker was done with the chain */
	struct stage_reads staged;	 /* reads of the chain (its first job has them) */

	unsigned index_result; /* enum job_index_result ... */
	uint64_t index_bytes;  /* ... and the size of the index */

	/* The pool's, of the chain's first job: */
	struct buffer bytes;		/* of the file */
	struct stamp stamp;		/* of the file */
	struct cached_picture *picture; /* pinned: it was kept, so its bytes were not read */
	bool stored;	    /* its pixels are on the disk, so its bytes were not read; of
			     * one that warms, in the end: they are there */
	bool anew;	    /* its bytes are those of the file written anew, from the disk */
	struct buffer mask; /* bytes of the mask's file, if a job of the chain has that field ... */
	enum job_outcome mask_outcome; /* ... or why they could not be read */
	struct fault mask_fault;
	struct buffer partner_bytes; /* the same of the mix partner's file */
	struct stamp partner_stamp;
	struct cached_picture *partner_picture;
	bool partner_stored, partner_anew;
	enum job_outcome partner_outcome;
	struct fault partner_fault;
};

static inline uint64_t job_sample(const struct job_recipe *recipe, uint64_t entry)
{
	return recipe->sampler ? sampler_sample(recipe->sampler, entry) : recipe->first + entry;
}

/* Is a sample written? Else a file is only looked at. */
static inline bool recipe_has_slots(const struct job_recipe *recipe)
{
	return recipe->pipeline && !recipe->moments && !recipe->warms;
}

/* Bytes that were read of the sample's file. */
static inline size_t job_bytes_read(const struct job *job)
{
	return job->anew ? 0 : job->bytes.size;
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
