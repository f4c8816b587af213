// SPDX-License-Identifier: MIT
#include "work/sample.h"

#include <string.h>

#include "base/clock.h"

int sample_kit_init(struct sample_kit *kit)
{
	*kit = SAMPLE_KIT_NULL;
	int r = decoder_new(&kit->decoder);
	if (r == 0)
		r = pipeline_scratch_new(&kit->scratch);
	if (r < 0)
		sample_kit_deinit(kit);
	return r;
}

void sample_kit_deinit(struct sample_kit *kit)
{
	decoder_free(kit->decoder);
	pipeline_scratch_free(kit->scratch);
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

static enum job_outcome sample_read(struct job *job, uint64_t sample, struct fault *fault)
{
	const struct job_recipe *recipe = job->recipe;
	return outcome_of_read(dataset_read(recipe->dataset, sample, recipe->max_bytes, &job->bytes,
					    &job->stamp, fault));
}

/* The bytes in hand, of `sample` -> the slot's image. */
static enum job_outcome sample_draw(struct job *job, uint64_t sample, struct sample_kit *kit,
				    struct fault *fault)
{
	const struct job_recipe *recipe = job->recipe;
	const struct decode_origin origin = {recipe->scans, sample, job->stamp};
	int32_t width, height;
	struct rect need;
	struct image image;

	int r = decoder_begin(kit->decoder, job->bytes.data, job->bytes.size, &recipe->limits,
			      recipe->exif, &width, &height, fault);
	if (r)
		return outcome_of_decode(r);
	decoder_set_origin(kit->decoder, &origin);
	r = pipeline_draw(recipe->pipeline, &job->key, width, height, kit->scratch, &need, fault);
	if (r)
		return outcome_of_pipeline(r);
	r = decoder_read(kit->decoder, need, &image, fault);
	if (r)
		return outcome_of_decode(r);
	return outcome_of_pipeline(
		pipeline_apply(recipe->pipeline, &image, kit->scratch, job->image));
}

/* The neighbours behind a bad sample, in turn, round the stream's samples: deterministic. The
 * draws stay those of the position. */
static void sample_substitute(struct job *job, struct sample_kit *kit)
{
	const struct job_recipe *recipe = job->recipe;
	for (uint64_t i = 1; i <= recipe->substitutes && i < recipe->count; i++) {
		uint64_t neighbour =
			recipe->first + (job->sample - recipe->first + i) % recipe->count;
		struct fault ignored;
		if (sample_read(job, neighbour, &ignored) == JOB_DONE &&
		    sample_draw(job, neighbour, kit, &ignored) == JOB_DONE) {
			job->used = neighbour;
			job->substituted = true;
			return;
		}
	}
}

void sample_fetch(struct job *job)
{
	uint64_t start = clock_ns();
	job->outcome = sample_read(job, job->sample, &job->fault);
	if (job->outcome != JOB_DONE)
		job->bytes.size = 0;
	job->fetch_ns = clock_ns() - start;
}

void sample_make(struct job *job, struct sample_kit *kit)
{
	uint64_t start = clock_ns();
	job->used = job->sample;
	job->substituted = false;
	if (job->outcome == JOB_DONE)
		job->outcome = sample_draw(job, job->sample, kit, &job->fault);
	if (job->outcome != JOB_DONE && job->outcome != JOB_MEMORY)
		sample_substitute(job, kit);
	if (job->outcome == JOB_DONE || job->substituted) {
		int64_t index = (int64_t)job->used;
		dataset_read_label(job->recipe->dataset, job->used, job->label);
		memcpy(job->index, &index, sizeof(index));
	}
	job->work_ns = clock_ns() - start;
}
