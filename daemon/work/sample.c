// SPDX-License-Identifier: MIT
#include "work/sample.h"

#include <string.h>

#include "base/clock.h"

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
	for (unsigned i = 0; i < JOB_KIN_MAX; i++)
		pipeline_scratch_free(kit->scratch[i]);
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

static enum job_outcome outcome_of_decode(int condition)
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

static enum job_outcome outcome_of_pipeline(int condition)
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
	return outcome_of_read(dataset_read(recipe->dataset, sample, recipe->max_bytes, &job->bytes,
					    &job->stamp, &job->fault));
}

/* One outcome for a job and all its kin. */
static void sample_spread(struct job *job)
{
	job->shared = false;
	for (struct job *kin = job->kin; kin; kin = kin->kin) {
		kin->shared = true;
		kin->outcome = job->outcome;
		kin->fault = job->fault;
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

/* A picture's size, and whether it can be decoded smaller. */
struct original {
	int32_t width, height;
	bool shrinks;
};

/* What one job needs of a picture, decoded at 1/scale of its size. */
struct need {
	struct rect part;
	unsigned scale;
};

static enum job_outcome sample_plan(struct job *job, const struct original *original,
				    struct pipeline_scratch **scratch, struct need *out)
{
	const struct pipeline *pipeline = job->recipe->pipeline;
	if (!*scratch && pipeline_scratch_new(scratch) < 0)
		return JOB_MEMORY;
	*out = (struct need){.scale = 1};
	int r = pipeline_draw(pipeline, &job->key, original->width, original->height, *scratch,
			      &out->part, &job->fault);
	if (r == 0 && original->shrinks)
		r = pipeline_draft(pipeline, *scratch, original->width, original->height,
				   &out->part, &out->scale, &job->fault);
	return outcome_of_pipeline(r);
}

static int sample_read_part(const struct need *need, struct sample_kit *kit, struct image *image,
			    struct fault *fault)
{
	decoder_set_scale(kit->decoder, need->scale);
	return decoder_read(kit->decoder, need->part, image, fault);
}

static enum job_outcome sample_apply(struct job *job, const struct image *image,
				     struct pipeline_scratch *scratch)
{
	const struct pipeline *pipeline = job->recipe->pipeline;
	return outcome_of_pipeline(pipeline_apply(pipeline, image, scratch, job->image));
}

/* What serves all jobs that could be planned; false if they want different scales. */
static bool needs_join(const struct job *job, const struct need *needs, struct need *out)
{
	*out = (struct need){.scale = 0};
	for (; job; job = job->kin, needs++) {
		if (job->outcome != JOB_DONE)
			continue;
		if (out->scale != 0 && out->scale != needs->scale)
			return false;
		out->part = rect_around(out->part, needs->part);
		out->scale = needs->scale;
	}
	return out->scale != 0;
}

/* The picture begun -> each one's image, from one decode of all that they need; unless that fails,
 * for then each has the right to what its own part alone gives. */
static void sample_make_images(struct job *job, const struct original *original,
			       struct sample_kit *kit)
{
	struct need needs[JOB_KIN_MAX], all;
	struct image image;
	unsigned i = 0;
	for (struct job *kin = job; kin; kin = kin->kin, i++)
		kin->outcome = sample_plan(kin, original, &kit->scratch[i], &needs[i]);
	struct fault ignored;
	bool together = job->kin && needs_join(job, needs, &all) &&
			sample_read_part(&all, kit, &image, &ignored) == 0;
	i = 0;
	for (struct job *kin = job; kin; kin = kin->kin, i++) {
		kin->shared = together && i > 0;
		if (kin->outcome == JOB_DONE && !together)
			kin->outcome = outcome_of_decode(
				sample_read_part(&needs[i], kit, &image, &kin->fault));
		uint64_t start = clock_ns();
		if (kin->outcome == JOB_DONE)
			kin->outcome = sample_apply(kin, &image, kit->scratch[i]);
		job->transform_ns += clock_ns() - start;
	}
}

/* The bytes that the first has in hand, of `sample` -> the slots' images. */
static void sample_draw(struct job *job, uint64_t sample, struct sample_kit *kit)
{
	const struct job_recipe *recipe = job->recipe;
	const struct decode_origin origin = {recipe->scans, sample, job->stamp};
	struct original original;
	job->outcome = outcome_of_decode(
		decoder_begin(kit->decoder, job->bytes.data, job->bytes.size, &recipe->limits,
			      recipe->exif, &original.width, &original.height, &job->fault));
	if (job->outcome != JOB_DONE) {
		sample_spread(job);
		return;
	}
	decoder_set_origin(kit->decoder, &origin);
	original.shrinks = decoder_shrinks(kit->decoder);
	sample_make_images(job, &original, kit);
}

/* The neighbours behind a bad sample, in turn, round the stream's samples: deterministic. The
 * draws stay those of the position. */
static void sample_substitute(struct job *job, struct sample_kit *kit)
{
	const struct job_recipe *recipe = job->recipe;
	struct job other = *job; /* its words are not those of the bad one */
	other.kin = NULL;
	for (uint64_t i = 1; i <= recipe->substitutes && i < recipe->count; i++) {
		job->used = recipe->first + (job->sample - recipe->first + i) % recipe->count;
		other.outcome = sample_read(&other, job->used);
		if (other.outcome == JOB_DONE)
			sample_draw(&other, job->used, kit);
		job->substituted = other.outcome == JOB_DONE;
		if (job->substituted)
			break;
	}
	job->bytes = other.bytes;
	job->stamp = other.stamp;
}

/* One job of those that were drawn together: a substitute if it needs one, and the rest. */
static void sample_finish(struct job *job, struct sample_kit *kit)
{
	job->used = job->sample;
	job->substituted = false;
	if (job->outcome != JOB_DONE && job->outcome != JOB_MEMORY)
		sample_substitute(job, kit);
	if ((job->outcome == JOB_DONE || job->substituted)) {
		int64_t index = (int64_t)job->used;
		dataset_read_label(job->recipe->dataset, job->used, job->label);
		memcpy(job->index, &index, sizeof(index));
	}
}

/* A visit: no pixels, only where they can be had from the next time on. */
static void sample_visit(struct job *job, struct sample_kit *kit)
{
	const struct job_recipe *recipe = job->recipe;
	const struct decode_origin origin = {recipe->scans, job->sample, job->stamp};
	int32_t width, height;
	job->index_bytes = 0;
	if (job->outcome != JOB_DONE)
		return;
	job->outcome = outcome_of_decode(decoder_begin(kit->decoder, job->bytes.data,
						       job->bytes.size, &recipe->limits, false,
						       &width, &height, &job->fault));
	if (job->outcome != JOB_DONE)
		return;
	decoder_set_origin(kit->decoder, &origin);
	job->visited = JOB_OTHER;
	if (decoder_visit(kit->decoder))
		job->visited = (unsigned)scans_verdict(recipe->scans, job->sample, &job->stamp,
						       &job->index_bytes);
}

void sample_fetch(struct job *job)
{
	uint64_t start = clock_ns();
	job->outcome = sample_read(job, job->sample);
	if (job->outcome != JOB_DONE)
		job->bytes.size = 0;
	job->fetched_ns = clock_ns();
	job->fetch_ns = job->fetched_ns - start;
}

void sample_make(struct job *job, struct sample_kit *kit)
{
	uint64_t start = clock_ns();
	if (!job->recipe->pipeline) {
		sample_visit(job, kit);
		job->work_ns = clock_ns() - start;
		return;
	}
	job->transform_ns = 0;
	sample_spread(job);
	if (job->outcome == JOB_DONE)
		sample_draw(job, job->sample, kit);
	for (struct job *kin = job; kin; kin = kin->kin)
		sample_finish(kin, kit);
	job->work_ns = clock_ns() - start;
}
