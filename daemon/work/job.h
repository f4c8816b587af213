/* SPDX-License-Identifier: MIT */
/*
 * A job: make one sample and write it into one slot. The loop fills in the inputs and hands it to
 * the pool; a fetch thread reads the bytes, a worker makes the sample; the loop gets it back with
 * the outcome. One owner at a time: loop, pool, loop. What the inputs point at outlives the job.
 *
 * Jobs of the same sample may be kin: a chain that travels as its first and is read and decoded
 * once. Each has its own transforms, slot, outcome and owner; none of them can be told from one
 * that was made alone.
 */
#ifndef STOKER_WORK_JOB_H
#define STOKER_WORK_JOB_H

#include "base/buffer.h"
#include "base/fault.h"
#include "base/philox.h"
#include "dataset/dataset.h"
#include "decode/decode.h"
#include "decode/jpeg/seek_index_set.h"
#include "statistics/moments.h"
#include "transform/pipeline.h"
#include "work/field.h"
#include "work/sampler.h"

enum job_outcome {
	JOB_DONE,
	JOB_READ,      /* the bytes cannot be read */
	JOB_CHANGED,   /* the file is not the one that it was */
	JOB_FORMAT,    /* no image that we know */
	JOB_CORRUPT,   /* damaged or cut short */
	JOB_LIMIT,     /* above a limit */
	JOB_TRANSFORM, /* a transform cannot take it */
	JOB_MEMORY,    /* out of memory */
};

/* What a visit found, if its outcome is JOB_DONE. */
enum job_visited {
	JOB_INDEXED = 0,
	/* 1 and up: SEEK_INDEX_E_..., why there is no index */
	JOB_FULL = SEEK_INDEX_REASONS, /* no room for one */
	JOB_OTHER,		       /* it is no JPEG */
	JOB_VISITS,
};

/* What the jobs of one stream have in common. */
struct job_recipe {
	const struct dataset *dataset;
	const struct pipeline *pipeline; /* NULL: only visit, to learn what `scans` keeps */
	struct moments *moments; /* where bytes are added up, in place of a slot; NULL: nowhere */
	struct fields fields;
	struct seek_index_set *seek_indexes; /* the dataset's; NULL: none are kept */
	struct decode_limits limits;
	size_t max_bytes;
	bool exif;
	/* The stream's samples, by place from 0 to count: those of the sampler, or, if it is NULL,
	 * [first, first + count) of the dataset. */
	const struct sampler *sampler;
	uint64_t first, count;
	unsigned substitutes; /* how many neighbours may stand in for a bad sample; 0: none */
};

#define JOB_SHARERS_MAX 16

struct job {
	struct job *next;   /* of whoever owns it */
	struct job *sharer; /* the next that is made from the same decode; JOB_SHARERS_MAX in all */

	const struct job_recipe *recipe;
	struct draw_key key;
	uint64_t sample, place;
	struct draw_key partner_key;	 /* of the one that it is mixed with, if it is; its ... */
	uint64_t partner;		 /* ... place */
	void *field[SEGMENT_FIELDS_MAX]; /* the slot: one entry of each field's array */
	void *owner;			 /* the loop's, to know it again: a ring ... */
	uint32_t slot;			 /* ... and one of its slots */
	void *turn;			 /* the loop's, too: who ordered it and its kin */
	uint64_t cost_ns;		 /* what it is likely to take a worker; 0: not known */

	enum job_outcome outcome;
	bool shared;	  /* its decode was paid for by the first of its kin */
	bool substituted; /* `sample` could not be had: `used` stands in; fault says why */
	uint64_t used;	  /* the sample that is in the slot */
	struct fault fault;
	uint64_t fetch_ns, work_ns;	 /* time spent on it by a fetch thread and by a worker */
	uint64_t transform_ns;		 /* of work_ns: from pixels to the slot, kin included */
	uint64_t ordered_ns, fetched_ns; /* when it was handed over, and its bytes were there */

	unsigned visited;     /* enum job_visited ... */
	uint64_t index_bytes; /* ... of this size */

	struct buffer bytes; /* the pool's: from fetch to work */
	struct stamp stamp;  /* of the file they are from */
	struct buffer mask;  /* the same of its mask, if one of the kin has that field ... */
	enum job_outcome mask_outcome; /* ... and why there is none */
	struct fault mask_fault;
	struct buffer
		partner_bytes; /* the same of its partner's file, if one of the kin is mixed */
	struct stamp partner_stamp;
	enum job_outcome partner_outcome;
	struct fault partner_fault;
};

static inline uint64_t job_sample(const struct job_recipe *recipe, uint64_t place)
{
	return recipe->sampler ? sampler_sample(recipe->sampler, place) : recipe->first + place;
}

/* Is it, or one of its kin, of this owner? */
static inline bool job_is_of(const struct job *job, const void *owner)
{
	while (job && job->owner != owner)
		job = job->sharer;
	return job;
}

#endif
