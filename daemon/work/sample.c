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

/* Draw for a picture of this size: what of it one job needs. */
static enum job_outcome sample_plan(struct job *job, int32_t width, int32_t height,
				    struct pipeline_scratch **scratch, struct rect *need_out)
{
	const struct pipeline *pipeline = job->recipe->pipeline;
	if (!*scratch && pipeline_scratch_new(scratch) < 0)
		return JOB_MEMORY;
	return outcome_of_pipeline(
		pipeline_draw(pipeline, &job->key, width, height, *scratch, need_out, &job->fault));
}

static enum job_outcome sample_apply(struct job *job, const struct image *image,
				     struct pipeline_scratch *scratch)
{
	const struct pipeline *pipeline = job->recipe->pipeline;
	return outcome_of_pipeline(pipeline_apply(pipeline, image, scratch, job->image));
}

/* The picture begun -> each one's image, from one decode of all that they need; unless that fails,
 * for then each has the right to what its own part alone gives. */
static void sample_make_images(struct job *job, int32_t width, int32_t height,
			       struct sample_kit *kit)
{
	struct rect need[JOB_KIN_MAX], all = {0};
	struct image image;
	unsigned i = 0;
	for (struct job *kin = job; kin; kin = kin->kin, i++) {
		kin->outcome = sample_plan(kin, width, height, &kit->scratch[i], &need[i]);
		if (kin->outcome == JOB_DONE)
			all = rect_around(all, need[i]);
	}
	struct fault ignored;
	bool together =
		job->kin && all.width > 0 && decoder_read(kit->decoder, all, &image, &ignored) == 0;
	i = 0;
	for (struct job *kin = job; kin; kin = kin->kin, i++) {
		kin->shared = together && i > 0;
		if (kin->outcome == JOB_DONE && !together)
			kin->outcome = outcome_of_decode(
				decoder_read(kit->decoder, need[i], &image, &kin->fault));
		if (kin->outcome == JOB_DONE)
			kin->outcome = sample_apply(kin, &image, kit->scratch[i]);
	}
}

/* The bytes that the first has in hand, of `sample` -> the slots' images. */
static void sample_draw(struct job *job, uint64_t sample, struct sample_kit *kit)
{
	const struct job_recipe *recipe = job->recipe;
	const struct decode_origin origin = {recipe->scans, sample, job->stamp};
	int32_t width, height;
	job->outcome = outcome_of_decode(decoder_begin(kit->decoder, job->bytes.data,
						       job->bytes.size, &recipe->limits,
						       recipe->exif, &width, &height, &job->fault));
	if (job->outcome != JOB_DONE) {
		sample_spread(job);
		return;
	}
	decoder_set_origin(kit->decoder, &origin);
	sample_make_images(job, width, height, kit);
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
	sample_spread(job);
	if (job->outcome == JOB_DONE)
		sample_draw(job, job->sample, kit);
	for (struct job *kin = job; kin; kin = kin->kin)
		sample_finish(kin, kit);
	job->work_ns = clock_ns() - start;
}
