// SPDX-License-Identifier: MIT
#include "work/sample.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
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
	*kit = SAMPLE_KIT_NULL;
}

static enum job_outcome outcome_of_read(int condition)
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
	default:
		return JOB_MEMORY;
	}
}

static enum job_outcome sample_read(struct job *job, uint64_t sample)
{
	const struct job_recipe *recipe = job->recipe;
	if (dataset_has_pixels(recipe->dataset))
		return JOB_DONE;
	return outcome_of_read(dataset_read(recipe->dataset, sample, recipe->max_bytes, &job->bytes,
					    &job->stamp, &job->fault));
}

/* Read the mask's file, if a job of the chain has that field. */
static void sample_read_mask(struct job *job, uint64_t sample)
{
	const struct job *who = job;
	while (who && !who->recipe->fields.mask)
		who = who->sharer;
	if (who)
		job->mask_outcome = outcome_of_read(
			dataset_read_mask(who->recipe->dataset, sample, who->recipe->max_bytes,
					  &job->mask, &job->mask_fault));
}

/* Read the mix partner's file, if a job of the chain is mixed. All of them have the same partner.
 */
static void sample_read_partner(struct job *job)
{
	const struct job *who = job;
	while (who && !who->recipe->fields.mixes)
		who = who->sharer;
	if (who)
		job->partner_outcome = outcome_of_read(
			dataset_read(who->recipe->dataset, job_sample(who->recipe, who->partner),
				     who->recipe->max_bytes, &job->partner_bytes,
				     &job->partner_stamp, &job->partner_fault));
}

/* Set the first job's outcome for the whole chain. */
static void sample_spread_outcome(struct job *job)
{
	job->shared = false;
	for (struct job *sharer = job->sharer; sharer; sharer = sharer->sharer) {
		sharer->shared = true;
		sharer->outcome = job->outcome;
		sharer->fault = job->fault;
	}
}

static struct rect rect_around(struct rect a, struct rect b)
{
	if (a.width == 0)
		return b;
	int32_t right = a.x + a.width > b.x + b.width ? a.x + a.width : b.x + b.width;
	int32_t end = a.y + a.height > b.y + b.height ? a.y + a.height : b.y + b.height;
	struct rect around = {.x = a.x < b.x ? a.x : b.x, .y = a.y < b.y ? a.y : b.y};
	around.width = right - around.x;
	around.height = end - around.y;
	return around;
}

/* A picture's size, and whether it can be decoded at a smaller scale. */
struct original {
	uint64_t sample;
	int32_t width, height;
	bool shrinks;
};

/* The part of a picture, decoded at 1/scale of its size, that a job needs. */
struct need {
	struct rect part;
	unsigned scale;
};

static enum job_outcome sample_plan(struct job *job, uint32_t view, const struct original *original,
				    struct pipeline_scratch **scratch, struct need *out)
{
	const struct pipeline *pipeline = job->recipe->pipeline;
	const struct draw_key key = draw_view(&job->key, view);
	if (!*scratch && pipeline_scratch_new(scratch) < 0)
		return JOB_MEMORY;
	*out = (struct need){.scale = 1};
	int r = pipeline_draw(pipeline, &key, original->width, original->height, *scratch,
			      &out->part, &job->fault);
	if (r == 0)
		write_annotations(job, original->sample, view, *scratch);
	if (r == 0 && original->shrinks)
		r = pipeline_draft(pipeline, *scratch, original->width, original->height,
				   &out->part, &out->scale, &job->fault);
	return sample_outcome_of_pipeline(r);
}

/* Extend `all` to contain `one`; scale 0 if their scales differ. */
static void need_add(struct need *all, const struct need *one)
{
	all->part = rect_around(all->part, one->part);
	if (all->scale != one->scale)
		all->scale = 0;
}

/* What all views of a job need. With one view only, its draw stays in `scratch`. */
static enum job_outcome sample_plan_views(struct job *job, const struct original *original,
					  struct pipeline_scratch **scratch, struct need *out)
{
	enum job_outcome outcome = sample_plan(job, 0, original, scratch, out);
	for (uint32_t view = 1; view < job->recipe->fields.views && outcome == JOB_DONE; view++) {
		struct need one;
		outcome = sample_plan(job, view, original, scratch, &one);
		if (outcome == JOB_DONE)
			need_add(out, &one);
	}
	return outcome;
}

static int sample_read_part(const struct need *need, struct sample_kit *kit, struct image *image,
			    struct fault *fault)
{
	decoder_set_scale(kit->decoder, need->scale);
	return decoder_read(kit->decoder, need->part, image, fault);
}

static enum job_outcome sample_apply(struct job *job, uint32_t view, const struct image *image,
				     struct pipeline_scratch *scratch)
{
	const struct pipeline *pipeline = job->recipe->pipeline;
	uint8_t *out = job->field[FIELD_IMAGE];
	if (view > 0)
		out += view * pipeline_output(pipeline).bytes;
	return sample_outcome_of_pipeline(pipeline_apply(pipeline, image, scratch, out));
}

/* The part that all planned jobs need together; false if their scales differ. */
static bool needs_join(const struct job *job, const struct need *needs, struct need *out)
{
	bool any = false;
	for (; job; job = job->sharer, needs++) {
		if (job->outcome != JOB_DONE)
			continue;
		if (any)
			need_add(out, needs);
		else
			*out = *needs;
		any = true;
	}
	return any && out->scale != 0;
}

/* Make one job's pictures from `shared`, or, if that is NULL, from a decode for each view. */
static void sample_make_views(struct job *job, const struct original *original,
			      const struct image *shared, struct need need, struct sample_kit *kit,
			      struct pipeline_scratch **scratch, uint64_t *transform_ns)
{
	uint32_t views = job->recipe->fields.views;
	struct image own;
	for (uint32_t view = 0; view < views && job->outcome == JOB_DONE; view++) {
		if (views > 1) /* draw again: the scratch holds one draw only */
			job->outcome = sample_plan(job, view, original, scratch, &need);
		if (job->outcome == JOB_DONE && !shared)
			job->outcome = sample_outcome_of_decode(
				sample_read_part(&need, kit, &own, &job->fault));
		uint64_t start = clock_ns();
		if (job->outcome == JOB_DONE)
			job->outcome = sample_apply(job, view, shared ? shared : &own, *scratch);
		*transform_ns += clock_ns() - start;
	}
}

/* Make the images of a chain from one decode of the part that all need together. If that decode
 * fails, each job decodes its own part, which may be undamaged. */
static void sample_make_images(struct job *job, const struct original *original,
			       struct sample_kit *kit)
{
	struct need needs[JOB_SHARERS_MAX], all;
	struct image image;
	unsigned i = 0;
	for (struct job *sharer = job; sharer; sharer = sharer->sharer, i++)
		sharer->outcome = sample_plan_views(sharer, original, &kit->scratch[i], &needs[i]);
	struct fault ignored;
	bool together = (job->sharer || job->recipe->fields.views > 1) &&
			needs_join(job, needs, &all) &&
			sample_read_part(&all, kit, &image, &ignored) == 0;
	i = 0;
	for (struct job *sharer = job; sharer; sharer = sharer->sharer, i++) {
		sharer->shared = together && i > 0;
		sample_make_views(sharer, original, together ? &image : NULL, needs[i], kit,
				  &kit->scratch[i], &job->transform_ns);
	}
}

/* Write the masks of a chain; each job decodes its own part. */
static void sample_make_masks(struct job *job, const struct original *original,
			      struct sample_kit *kit)
{
	for (struct job *sharer = job; sharer; sharer = sharer->sharer) {
		if (sharer->outcome != JOB_DONE || !sharer->recipe->fields.mask)
			continue;
		sharer->outcome = job->mask_outcome;
		if (sharer->outcome != JOB_DONE)
			sharer->fault = job->mask_fault;
		for (uint32_t view = 0; view < sharer->recipe->fields.views; view++)
			if (sharer->outcome == JOB_DONE)
				write_mask(sharer, &job->mask, view, original->width,
					   original->height, kit->decoder, &kit->mask);
	}
}

/* Write the images of a chain from the pixels in memory of `sample`. */
static void sample_render_pixels(struct job *job, uint64_t sample, struct sample_kit *kit)
{
	const struct image image = dataset_pixels(job->recipe->dataset, sample);
	const struct original original = {
		.sample = sample, .width = image.width, .height = image.height};
	struct need need;
	for (struct job *sharer = job; sharer; sharer = sharer->sharer) {
		sharer->shared = false;
		sharer->outcome = JOB_DONE;
		for (uint32_t view = 0; view < sharer->recipe->fields.views; view++) {
			if (sharer->outcome == JOB_DONE)
				sharer->outcome = sample_plan(sharer, view, &original,
							      &kit->scratch[0], &need);
			if (sharer->outcome == JOB_DONE)
				sharer->outcome =
					sample_apply(sharer, view, &image, kit->scratch[0]);
		}
	}
}

/* Write the images of a chain from the bytes of `sample`, which its first job has read. */
static void sample_render(struct job *job, uint64_t sample, struct sample_kit *kit)
{
	const struct job_recipe *recipe = job->recipe;
	const struct decode_origin origin = {recipe->seek_indexes, sample, job->stamp};
	struct original original = {.sample = sample};
	if (dataset_has_pixels(recipe->dataset)) {
		sample_render_pixels(job, sample, kit);
		return;
	}
	job->outcome = sample_outcome_of_decode(
		decoder_begin(kit->decoder, job->bytes.data, job->bytes.size, &recipe->limits,
			      recipe->exif, &original.width, &original.height, &job->fault));
	if (job->outcome != JOB_DONE) {
		sample_spread_outcome(job);
		return;
	}
	decoder_set_origin(kit->decoder, &origin);
	original.shrinks = decoder_can_scale(kit->decoder);
	sample_make_images(job, &original, kit);
	sample_make_masks(job, &original, kit);
}

/* Try the samples behind a bad one in its place, in order; behind the last comes the first. This is
 * deterministic. The draws stay those of the position. */
static void sample_substitute(struct job *job, struct sample_kit *kit)
{
	const struct job_recipe *recipe = job->recipe;
	struct job other = *job; /* so that the fault of the bad sample is kept */
	other.sharer = NULL;
	for (uint64_t i = 1; i <= recipe->substitutes && i < recipe->count; i++) {
		job->used = job_sample(recipe, (job->entry + i) % recipe->count);
		other.outcome = sample_read(&other, job->used);
		if (other.outcome == JOB_DONE)
			sample_read_mask(&other, job->used);
		if (other.outcome == JOB_DONE)
			sample_render(&other, job->used, kit);
		job->substituted = other.outcome == JOB_DONE;
		if (job->substituted)
			break;
	}
	job->bytes = other.bytes;
	job->stamp = other.stamp;
	job->mask = other.mask;
}

/* Finish one job of a chain: a substitute if it needs one, then the other fields. */
static void sample_finish(struct job *job, struct sample_kit *kit)
{
	job->used = job->sample;
	job->substituted = false;
	if (job->outcome != JOB_DONE && job->outcome != JOB_MEMORY)
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
	};
	if (other.outcome == JOB_DONE)
		sample_render(&other, other.sample, kit);
	other.bytes = BUFFER_NULL; /* for a substitute; the chain still needs the partner's bytes */
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
	job->index_result = JOB_NOT_JPEG;
	if (decoder_index(kit->decoder))
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
	sample_render(job, job->sample, kit);
	if (job->outcome == JOB_DONE && moments_add(recipe->moments, kit->partner.data) < 0)
		job->outcome = JOB_MEMORY;
}

bool sample_needs_fetch(const struct job *job)
{
	return !dataset_has_pixels(job->recipe->dataset);
}

void sample_fetch(struct job *job)
{
	uint64_t start = clock_ns();
	job->outcome = sample_read(job, job->sample);
	if (job->outcome == JOB_DONE)
		sample_read_mask(job, job->sample);
	else
		job->bytes.size = 0;
	sample_read_partner(job);
	job->fetched_ns = clock_ns();
	job->fetch_ns = job->fetched_ns - start;
}

/* Do a job that has no slot. */
static void sample_examine(struct job *job, struct sample_kit *kit)
{
	if (job->recipe->moments)
		sample_measure(job, kit);
	else
		sample_index(job, kit);
}

/* Write the slots of a chain. */
static void sample_write(struct job *job, struct sample_kit *kit)
{
	job->transform_ns = 0;
	if (!sample_needs_fetch(job))
		job->outcome = job->partner_outcome = JOB_DONE;
	sample_spread_outcome(job);
	if (job->outcome == JOB_DONE)
		sample_render(job, job->sample, kit);
	for (struct job *sharer = job; sharer; sharer = sharer->sharer)
		sample_finish(sharer, kit);
	for (struct job *sharer = job; sharer; sharer = sharer->sharer)
		if (sharer->recipe->fields.mixes &&
		    (sharer->outcome == JOB_DONE || sharer->substituted))
			sample_mix(sharer, job, kit);
}

void sample_make(struct job *job, struct sample_kit *kit)
{
	uint64_t start = clock_ns();
	if (!job->recipe->pipeline || job->recipe->moments)
		sample_examine(job, kit);
	else
		sample_write(job, kit);
	decoder_end(kit->decoder);
	buffer_trim(&kit->partner, BUFFER_KEEP);
	job->work_ns = clock_ns() - start;
}
