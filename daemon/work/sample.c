// SPDX-License-Identifier: MIT
#include "work/sample.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "stage/stage.h"
#include "work/chain.h"
#include "work/keep.h"
#include "work/stored.h"
#include "work/write_fields.h"

int sample_kit_init(struct sample_kit *kit)
{
	*kit = SAMPLE_KIT_NULL;
	int r = decoder_new(&kit->decoder);
	if (r == 0)
		r = pipeline_scratch_new(&kit->scratch[0]);
	if (r < 0)
		sample_kit_deinit(kit);
	return r;
}

void sample_kit_deinit(struct sample_kit *kit)
{
	decoder_free(kit->decoder);
	for (unsigned i = 0; i < JOB_SHARERS_MAX; i++)
		pipeline_scratch_free(kit->scratch[i]);
	pipeline_scratch_free(kit->mask);
	buffer_deinit(&kit->partner);
	buffer_deinit(&kit->rewritten);
	buffer_deinit(&kit->whole);
	*kit = SAMPLE_KIT_NULL;
}

enum job_outcome sample_outcome_of_read(int condition)
{
	switch (condition) {
	case 0:
		return JOB_DONE;
	case DATASET_E_LIMIT:
		return JOB_LIMIT;
	case DATASET_E_READ:
		return JOB_READ;
	case DATASET_E_CHANGED:
		return JOB_CHANGED;
	default:
		return JOB_MEMORY;
	}
}

enum job_outcome sample_outcome_of_decode(int condition)
{
	switch (condition) {
	case 0:
		return JOB_DONE;
	case DECODE_E_FORMAT:
	case DECODE_E_UNSUPPORTED:
		return JOB_FORMAT;
	case DECODE_E_CORRUPT:
		return JOB_CORRUPT;
	case DECODE_E_LIMIT:
		return JOB_LIMIT;
	default:
		return JOB_MEMORY;
	}
}

enum job_outcome sample_outcome_of_pipeline(int condition)
{
	switch (condition) {
	case 0:
		return JOB_DONE;
	case PIPELINE_E_IMAGE:
		return JOB_TRANSFORM;
	case PIPELINE_E_STOPPED:
		return JOB_LIMIT;
	default:
		return JOB_MEMORY;
	}
}

/* Try the samples behind a bad one in its place, in order; behind the last comes the first. This is
 * deterministic. The draws stay those of the position. */
static void sample_substitute(struct job *job, struct sample_kit *kit)
{
	const struct job_recipe *recipe = job->recipe;
	struct job other = *job; /* so that the fault of the bad sample is kept */
	other.sharer = NULL;
	other.staged = (struct stage_reads){0};
	for (uint64_t i = 1; i <= recipe->substitutes && i < recipe->count; i++) {
		job->used = job_sample(recipe, (job->entry + i) % recipe->count);
		other.outcome = chain_read(&other, job->used);
		if (other.outcome == JOB_DONE)
			chain_read_mask(&other, job->used);
		if (other.outcome == JOB_DONE)
			chain_render(&other, job->used, kit);
		job->substituted = other.outcome == JOB_DONE;
		if (job->substituted)
			break;
	}
	job->bytes = other.bytes;
	job->stamp = other.stamp;
	job->mask = other.mask;
	job->staged.hits += other.staged.hits;
	job->staged.misses += other.staged.misses;
}

/* Finish one job of a chain: a substitute if it needs one, then the other fields. */
static void sample_finish(struct job *job, struct sample_kit *kit)
{
	job->used = job->sample;
	job->substituted = false;
	if (job->outcome != JOB_DONE && job->outcome != JOB_MEMORY && !job_is_unwanted(job))
		sample_substitute(job, kit);
	if (job->outcome == JOB_DONE || job->substituted)
		write_numbers(job);
}

static void sample_mix(struct job *job, struct job *first, struct sample_kit *kit)
{
	struct job_recipe recipe = *job->recipe;
	const struct field *image = &recipe.fields.field[FIELD_IMAGE];
	size_t label_at = (image->bytes + 7) & ~(size_t)7;
	int64_t index;
	recipe.fields.count = FIELD_FURTHER; /* of the partner only array and label */
	if (buffer_reserve(&kit->partner, label_at + recipe.fields.field[FIELD_LABEL].bytes) < 0) {
		job->outcome = JOB_MEMORY;
		return;
	}
	uint8_t *label = kit->partner.data + label_at;
	struct job other = {
		.recipe = &recipe,
		.key = job->partner_key,
		.sample = job_sample(&recipe, job->partner),
		.entry = job->partner,
		.field = {kit->partner.data, label, &index},
		.outcome = first->partner_outcome,
		.fault = first->partner_fault,
		.bytes = first->partner_bytes,
		.stamp = first->partner_stamp,
		.picture = first->partner_picture,
		.stored = first->partner_stored,
		.anew = first->partner_anew,
		.unwanted = job->unwanted,
	};
	if (other.picture)
		picture_pin(other.picture); /* it is the chain's */
	if (other.outcome == JOB_DONE)
		chain_render(&other, other.sample, kit);
	first->partner_bytes = other.bytes; /* the chain still needs them, ... */
	first->partner_stamp = other.stamp;
	first->partner_anew = other.anew;
	other.bytes = BUFFER_NULL; /* ... so this is for a substitute */
	sample_finish(&other, kit);
	buffer_deinit(&other.bytes);
	if (other.outcome == JOB_DONE || other.substituted) {
		pipeline_mix(recipe.pipeline, &job->key, job->field[FIELD_IMAGE], kit->partner.data,
			     job->field[FIELD_LABEL], (const float *)(void *)label,
			     recipe.fields.classes);
		return;
	}
	job->substituted = false;
	job->outcome = other.outcome;
	fault_say(&job->fault, 1, "sample %" PRIu64 ", which it is mixed with: %s", other.sample,
		  other.fault.text);
}

/* Make the seek index of a file, without decoding pixels. */
static void sample_index(struct job *job, struct sample_kit *kit)
{
	const struct job_recipe *recipe = job->recipe;
	const struct decode_origin origin = {recipe->seek_indexes, job->sample, job->stamp};
	int32_t width, height;
	job->index_bytes = 0;
	if (job->outcome != JOB_DONE)
		return;
	job->outcome = sample_outcome_of_decode(decoder_begin(kit->decoder, job->bytes.data,
							      job->bytes.size, &recipe->limits,
							      false, &width, &height, &job->fault));
	if (job->outcome != JOB_DONE)
		return;
	decoder_set_origin(kit->decoder, &origin);
	bool indexed = false;
	job->index_result = JOB_NOT_JPEG;
	job->outcome = sample_outcome_of_decode(decoder_index(kit->decoder, &indexed, &job->fault));
	if (indexed)
		job->index_result = (unsigned)seek_index_set_verdict(
			recipe->seek_indexes, job->sample, &job->stamp, &job->index_bytes);
}

/* Add the finished array to the moments. */
static void sample_measure(struct job *job, struct sample_kit *kit)
{
	const struct job_recipe *recipe = job->recipe;
	if (!sample_needs_fetch(job))
		job->outcome = JOB_DONE;
	if (job->outcome == JOB_DONE &&
	    buffer_reserve(&kit->partner, pipeline_output(recipe->pipeline).bytes) < 0)
		job->outcome = JOB_MEMORY;
	if (job->outcome != JOB_DONE)
		return;
	job->field[FIELD_IMAGE] = kit->partner.data;
	chain_render(job, job->sample, kit);
	if (job->outcome == JOB_DONE && moments_add(recipe->moments, kit->partner.data) < 0)
		job->outcome = JOB_MEMORY;
}

/* Keep the picture as decoded, as far as there is room, and what memory has on the disk, too. */
static void sample_warm(struct job *job, struct sample_kit *kit)
{
	const struct job_recipe *recipe = job->recipe;
	if (job->outcome != JOB_DONE)
		return;
	/* So that the visit that follows is not the first, which keeps nothing. */
	picture_set_visit(recipe->pictures, job->sample, false, clock_ns());
	if (job->picture)
		keep_copy(recipe, job->picture);
	chain_render(job, job->sample, kit);
	job->stored = job->outcome == JOB_DONE && stored_has_any(recipe, &job->stamp);
}

bool sample_needs_fetch(const struct job *job)
{
	return !dataset_has_pixels(job->recipe->dataset);
}

void sample_forget(struct job *job)
{
	picture_unpin(job->picture);
	picture_unpin(job->partner_picture);
	job->picture = job->partner_picture = NULL;
}

/* The courses of what is staged are those of fetches. */
static void sample_show(const struct job *job)
{
	for (uint64_t now_ns = clock_ns(); job; job = job->sharer) {
		const struct job_recipe *recipe = job->recipe;
		if (recipe->staged && !recipe->sampler)
			courses_show(stage_set_courses(recipe->staged), job->owner,
				     job->key.epoch * recipe->count + job->key.position, now_ns);
	}
}

void sample_fetch(struct job *job)
{
	uint64_t start = clock_ns();
	sample_show(job);
	sample_forget(
		job); /* it may have been fetched before and cancelled for some of its chain */
	job->outcome = chain_read(job, job->sample);
	if (job->outcome == JOB_DONE)
		chain_read_mask(job, job->sample);
	else
		job->bytes.size = 0;
	chain_read_partner(job);
	job->fetched_ns = clock_ns();
	job->fetch_ns = job->fetched_ns - start;
}

/* Do a job that has no slot. */
static void sample_examine(struct job *job, struct sample_kit *kit)
{
	if (job->recipe->moments)
		sample_measure(job, kit);
	else if (job->recipe->warms)
		sample_warm(job, kit);
	else
		sample_index(job, kit);
	sample_forget(job);
}

static bool chain_is_unwanted(const struct job *job)
{
	while (job && job_is_unwanted(job))
		job = job->sharer;
	return !job;
}

/* Whatever became of it, nobody will look. */
static void sample_leave_unwanted(struct job *job)
{
	for (; job; job = job->sharer) {
		if (!job_is_unwanted(job))
			continue;
		job->outcome = JOB_UNWANTED;
		job->substituted = false;
	}
}

/* Write the slots of a chain. */
static void sample_write_chain(struct job *job, struct sample_kit *kit)
{
	job->decoded = job->clips = false;
	if (!sample_needs_fetch(job))
		job->outcome = job->partner_outcome = JOB_DONE;
	chain_spread_outcome(job);
	if (job->outcome == JOB_DONE)
		chain_render(job, job->sample, kit);
	for (struct job *sharer = job; sharer; sharer = sharer->sharer)
		sample_finish(sharer, kit);
	for (struct job *sharer = job; sharer; sharer = sharer->sharer)
		if (sharer->recipe->fields.mixes &&
		    (sharer->outcome == JOB_DONE || sharer->substituted))
			sample_mix(sharer, job, kit);
}

static void sample_write(struct job *job, struct sample_kit *kit)
{
	job->transform_ns = 0;
	if (!chain_is_unwanted(job))
		sample_write_chain(job, kit);
	sample_leave_unwanted(job);
	sample_forget(job);
}

void sample_make(struct job *job, struct sample_kit *kit)
{
	uint64_t start = clock_ns();
	if (!recipe_has_slots(job->recipe))
		sample_examine(job, kit);
	else
		sample_write(job, kit);
	decoder_end(kit->decoder);
	buffer_trim(&kit->partner, BUFFER_KEEP);
	buffer_trim(&kit->rewritten, BUFFER_KEEP);
	buffer_trim(&kit->whole, BUFFER_KEEP);
	job->made_ns = clock_ns();
	job->work_ns = job->made_ns - start;
}
