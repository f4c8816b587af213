// SPDX-License-Identifier: MIT
#include "work/sample.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "store/keep.h"
#include "work/chain.h"
#include "work/made.h"
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
	instance_room_deinit(&kit->instances);
	buffer_deinit(&kit->partner);
	buffer_deinit(&kit->rewritten);
	buffer_deinit(&kit->whole);
	*kit = SAMPLE_KIT_NULL;
}

static void sample_render(struct job *job, struct input *input, struct sample_kit *kit)
{
	const struct purpose *purpose = job->recipe->purpose;
	if (purpose->copies || purpose->maps)
		made_render(job, input, kit);
	else
		chain_render(job, input, kit);
}

/* Try the samples behind a bad one in its place, in order; behind the last comes the first. This is
 * deterministic. The draws stay those of the position. */
static void sample_substitute(struct job *job, struct sample_kit *kit)
{
	const struct job_recipe *recipe = job->recipe;
	struct job other = *job; /* so that the fault of the bad sample is kept */
	other.sharer = NULL;
	const struct fault *why = &job->fault;
	for (uint64_t i = 1; i <= recipe->substitutes && i < recipe->count; i++) {
		if (other.own.supply)
			supply_spoil(other.own.supply, job->used, &job->key, other.outcome, why);
		why = &other.fault;
		uint64_t next = (job->entry - recipe->begin + i) % recipe->count;
		job->used = job_sample(recipe, recipe->begin + next);
		chain_read(&other, &other.own, job->used, &job->key);
		if (other.own.source.outcome == JOB_DONE)
			chain_read_mask(&other, job->used);
		sample_render(&other, &other.own, kit);
		job->substituted = other.outcome == JOB_DONE;
		if (job->substituted || other.outcome == JOB_AWAITS)
			break;
	}
	if (other.outcome == JOB_AWAITS)
		job->outcome = JOB_AWAITS;
	source_release(&other.own.source);
	job->own = other.own;
	job->mask = other.mask;
	job->staged = other.staged;
}

/* Finish one job of a chain: a substitute if it needs one, then the other fields. */
static void sample_finish(struct job *job, struct sample_kit *kit)
{
	job->used = job->sample;
	job->substituted = false;
	if (job->outcome != JOB_DONE && job->outcome != JOB_MEMORY && job->outcome != JOB_AWAITS &&
	    job->outcome != JOB_LARGER && !job_is_unwanted(job))
		sample_substitute(job, kit);
	if (job->outcome == JOB_DONE || job->substituted)
		write_numbers(job);
}

/* Give a partner's job memory for its fields. */
static int place_fields(struct job *other, struct buffer *memory)
{
	const struct fields *fields = &other->recipe->fields;
	size_t at[SEGMENT_FIELDS_MAX], bytes = 0;
	for (uint32_t i = 0; i < fields->count; i++) {
		const size_t tile = fields_tile_bytes(fields, i);
		at[i] = bytes;
		bytes += ((tile ? tile : fields->field[i].bytes) + 7) & ~(size_t)7;
	}
	int r = buffer_reserve(memory, bytes);
	for (uint32_t i = 0; i < fields->count && r == 0; i++)
		other->field[i] = memory->data + at[i];
	return r;
}

/* Join the fields of a job with those that its partner `number` has made. */
static void job_join(struct job *job, uint32_t number, const struct job *other)
{
	const struct job_recipe *recipe = job->recipe;
	if (recipe->fields.partners > 1)
		write_tile(job, number + 1, other);
	else
		pipeline_mix(recipe->pipeline, &job->key, job->field[FIELD_IMAGE],
			     other->field[FIELD_IMAGE], job->field[FIELD_LABEL],
			     other->field[FIELD_LABEL], recipe->fields.classes);
}

/* Join a job with its partner `number`, whose inputs `partner` has. */
static void sample_join(struct job *job, uint32_t number, struct partner *partner,
			struct sample_kit *kit)
{
	struct job_recipe recipe = *job->recipe;
	struct input *input = &partner->own;
	if (recipe.fields.partners == 1) { /* of the partner only array and label are mixed */
		recipe.fields.count = FIELD_FURTHER;
		recipe.fields.real = recipe.fields.crop = recipe.fields.original = 0;
	}
	struct job other = {
		.recipe = &recipe,
		.key = job->partner[number].key,
		.sample = input->sample,
		.entry = job->partner[number].entry,
		.unwanted = job->unwanted,
		.own = {.supply = input->supply, .label = input->label},
		.mask = partner->mask,
	};
	if (place_fields(&other, &kit->partner) < 0) {
		job->outcome = JOB_MEMORY;
		return;
	}
	if (recipe.fields.partners > 1)
		other.tile = pipeline_tile(recipe.pipeline, &job->key, number + 1);
	sample_render(&other, input, kit);
	other.mask = (struct input){0}; /* that is the chain's, and a substitute has its own */
	sample_finish(&other, kit);
	decoder_end(kit->decoder); /* it may read a substitute, which is the other's */
	source_deinit(&other.own.source);
	source_deinit(&other.mask.source);
	if (other.outcome == JOB_DONE || other.substituted) {
		job_join(job, number, &other);
		return;
	}
	job->substituted = false;
	job->outcome = other.outcome;
	if (other.outcome == JOB_AWAITS)
		return;
	fault_say(&job->fault, 1, "sample %" PRIu64 ", which it is mixed with: %s", other.sample,
		  other.fault.text);
}

/* Join a job with its partners. Its own sample is in its slot. */
static void sample_join_all(struct job *job, struct partner *partners, struct sample_kit *kit)
{
	const uint32_t count = job->recipe->fields.partners;
	if (count > 1)
		write_tile(job, 0, job);
	for (uint32_t i = 0; i < count && (job->outcome == JOB_DONE || job->substituted); i++)
		sample_join(job, i, &partners[i], kit);
}

/* -- fetch -------------------------------------------------------------------------------- */

bool sample_needs_fetch(const struct job *job)
{
	return !dataset_has_pixels(job->recipe->dataset) && !job->supply.asked;
}

void sample_forget(struct job *job)
{
	source_release(&job->own.source);
	for (uint32_t i = 0; i < job->partners; i++)
		source_release(&job->partner[i].own.source);
}

static void read_inputs(struct job *job)
{
	for (struct job *sharer = job; sharer; sharer = sharer->sharer)
		sharer->own.supply = &job->supply;
	job->supply.alone = !job->sharer;
	supply_take(&job->supply, !job->recipe->fields.made);
	chain_read(job, &job->own, job->sample, &job->key);
	if (job->own.source.outcome == JOB_DONE)
		chain_read_mask(job, job->sample);
	chain_read_partners(job);
}

/* Tell the stage how far the streams of the chain are: what is staged is used by fetches. */
static void sample_show(const struct job *job)
{
	uint64_t now_ns = clock_ns();
	for (; job; job = job->sharer) {
		const struct job_recipe *recipe = job->recipe;
		if (recipe->staged && job_has_course(recipe))
			courses_show(stage_set_courses(recipe->staged), job->owner,
				     job->key.epoch * recipe->count + job->key.position, now_ns);
	}
}

void sample_fetch(struct job *job)
{
	uint64_t start = clock_ns();
	sample_show(job);
	read_inputs(job);
	job->fetched_ns = clock_ns();
	job->fetch_ns = job->fetched_ns - start;
}

/* -- the purposes ------------------------------------------------------------------------- */

static bool chain_is_unwanted(const struct job *job)
{
	while (job && job_is_unwanted(job))
		job = job->sharer;
	return !job;
}

static void chain_write(struct job *job, struct sample_kit *kit)
{
	for (struct job *sharer = job; sharer; sharer = sharer->sharer)
		if (sharer->recipe->fields.partners > 1)
			sharer->tile = pipeline_tile(sharer->recipe->pipeline, &sharer->key, 0);
	sample_render(job, &job->own, kit);
	for (struct job *sharer = job; sharer; sharer = sharer->sharer)
		sample_finish(sharer, kit);
	for (struct job *sharer = job; sharer; sharer = sharer->sharer)
		if (sharer->recipe->fields.partners &&
		    (sharer->outcome == JOB_DONE || sharer->substituted))
			sample_join_all(sharer, job->partner, kit);
}

static void run_write(struct job *job, struct sample_kit *kit)
{
	if (!job->supply.wants && !chain_is_unwanted(job))
		chain_write(job, kit);
	for (struct job *sharer = job; sharer; sharer = sharer->sharer) {
		if (!job_is_unwanted(sharer))
			continue;
		sharer->outcome = JOB_UNWANTED; /* whatever became of it, nobody will look */
		sharer->substituted = false;
	}
	if (job->supply.wants)
		job->outcome = JOB_AWAITS;
}

static void run_index(struct job *job, struct sample_kit *kit)
{
	const struct job_recipe *recipe = job->recipe;
	const struct source *source = &job->own.source;
	int32_t width, height;
	bool indexed = false;
	job->index_bytes = 0;
	job->index_result = JOB_NOT_JPEG;
	job->outcome = source->outcome;
	job->fault = source->fault;
	if (job->outcome == JOB_DONE)
		job->outcome = outcome_of_decode(source_begin(&kit->view, kit->decoder, recipe,
							      &job->own, &recipe->limits, &width,
							      &height, &job->fault));
	if (job->outcome == JOB_DONE)
		job->outcome =
			outcome_of_decode(decoder_index(kit->decoder, &indexed, &job->fault));
	if (indexed)
		job->index_result = (unsigned)seek_index_set_verdict(
			recipe->seek_indexes, job->sample, &source->stamp, &job->index_bytes);
}

static void run_measure(struct job *job, struct sample_kit *kit)
{
	const struct job_recipe *recipe = job->recipe;
	job->outcome = JOB_MEMORY;
	if (buffer_reserve(&kit->partner, pipeline_output(recipe->pipeline).bytes) < 0)
		return;
	job->field[FIELD_IMAGE] = kit->partner.data;
	chain_render(job, &job->own, kit);
	if (job->outcome == JOB_DONE && moments_add(recipe->moments, kit->partner.data) < 0)
		job->outcome = JOB_MEMORY;
}

static void run_warm(struct job *job, struct sample_kit *kit)
{
	const struct job_recipe *recipe = job->recipe;
	const struct source *source = &job->own.source;
	/* The use that follows is not the first, which would keep a quarter only. */
	picture_set_use(recipe->keeper.pictures, job->sample, false, clock_ns());
	if (source->picture)
		keep_copy(&recipe->keeper, source->picture);
	chain_render(job, &job->own, kit);
	const struct picture_key key = source_key(&job->own, recipe);
	job->stored = job->outcome == JOB_DONE && keeper_has_stored(&recipe->keeper, &key);
}

const struct purpose purpose_write = {.run = run_write, .has_slot = true};
const struct purpose purpose_copy = {.run = run_write, .has_slot = true, .copies = true};
const struct purpose purpose_map = {.run = run_write, .has_slot = true, .maps = true};
const struct purpose purpose_index = {.run = run_index};
const struct purpose purpose_measure = {.run = run_measure};
const struct purpose purpose_warm = {.run = run_warm, .only_keeps = true};

void sample_make(struct job *job, struct sample_kit *kit)
{
	uint64_t start = clock_ns();
	if (!sample_needs_fetch(job))
		read_inputs(job);
	job->recipe->purpose->run(job, kit);
	decoder_end(kit->decoder);
	instance_room_trim(&kit->instances);
	buffer_trim(&kit->partner, BUFFER_KEEP);
	buffer_trim(&kit->rewritten, BUFFER_KEEP);
	buffer_trim(&kit->whole, BUFFER_KEEP);
	sample_forget(job);
	job->made_ns = clock_ns();
	job->work_ns += job->made_ns - start; /* it may have been here before */
}
