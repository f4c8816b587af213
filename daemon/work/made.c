// SPDX-License-Identifier: MIT
#include "work/made.h"

#include <string.h>

#include "work/chain.h"
#include "work/write_fields.h"

/* -- arrays ------------------------------------------------------------------------------- */

static enum job_outcome take_arrays(struct job *job)
{
	const struct fields *fields = &job->recipe->fields;
	const uint8_t *from = job->own.record;
	size_t whole = 0;
	for (uint32_t i = 0; i < fields->made; i++)
		whole += fields->field[fields->made_at[i]].bytes;
	if (job->own.record_bytes != whole) {
		fault_say(&job->fault, 1, "a record of %zu bytes, and its arrays have %zu",
			  job->own.record_bytes, whole);
		return JOB_USER;
	}
	for (uint32_t i = 0; i < fields->made; i++) {
		size_t bytes = fields->field[fields->made_at[i]].bytes;
		memcpy(job->field[fields->made_at[i]], from, bytes);
		from += bytes;
	}
	return JOB_DONE;
}

static enum job_outcome copy_sample(struct job *job)
{
	const struct fields *fields = &job->recipe->fields;
	int64_t index = (int64_t)job->sample;
	enum job_outcome outcome = take_arrays(job);
	memcpy(job->field[FIELD_INDEX], &index, sizeof(index));
	if (fields->made == 1)
		memset(job->field[FIELD_LABEL], 0, fields->field[FIELD_LABEL].bytes);
	return outcome;
}

void made_copy(struct job *job)
{
	job->decoded = job->clips = job->shared = job->substituted = false;
	job->transform_ns = 0;
	job->used = job->sample;
	job->outcome = job_is_unwanted(job) ? JOB_UNWANTED
		       : job->own.record    ? copy_sample(job)
					    : JOB_AWAITS;
}

/* -- Map ---------------------------------------------------------------------------------- */

/* Make the picture that the code gets. */
static void map_begin(struct job *job, struct sample_kit *kit)
{
	struct job_recipe recipe = *job->recipe;
	recipe.pipeline = pipeline_front(recipe.pipeline);
	recipe.fields = (struct fields){.count = FIELD_FURTHER, .views = 1};
	struct job front = {
		.recipe = &recipe,
		.key = job->key,
		.sample = job->sample,
		.entry = job->entry,
		.owner = job->owner,
		.unwanted = job->unwanted,
		.field = {&job->own.picture},
	};
	chain_render(&front, &job->own, kit);
	job->decoded = front.decoded;
	job->clips = front.clips;
	job->transform_ns = front.transform_ns;
	job->staged.hits += front.staged.hits;
	job->staged.misses += front.staged.misses;
	job->own.pictured = front.outcome == JOB_DONE;
	job->outcome = job->own.pictured ? JOB_AWAITS : front.outcome;
	job->fault = front.fault;
}

/* A picture, and no file of other formats: what a picture costs is known by its size. */
static bool is_picture(const struct buffer *file)
{
	return file->size > 2 && file->data[0] == 'P' &&
	       (file->data[1] == '5' || file->data[1] == '6');
}

/* Go on with the picture that the code gave. It is kept nowhere: it may differ each time. */
static void map_go_on(struct job *job, struct sample_kit *kit)
{
	struct job_recipe recipe = *job->recipe;
	struct source *source = &job->own.source;
	size_t size = job->own.record_bytes;
	if (buffer_reserve(&source->bytes, size) < 0) {
		job->outcome = JOB_MEMORY;
		return;
	}
	memcpy(source->bytes.data, job->own.record, size);
	source->bytes.size = size;
	source->kind = SOURCE_FILE;
	source->rewritten = false;
	source->outcome = JOB_DONE;
	job->outcome = JOB_USER;
	if (!is_picture(&source->bytes)) {
		fault_say(&job->fault, 1, "a record of %zu bytes that is no PNM picture (P5, P6)",
			  size);
		return;
	}
	recipe.keeper = (struct keeper){.pictures = NULL};
	recipe.seek_indexes = NULL;
	recipe.exif = false;
	struct job rest = *job;
	rest.recipe = &recipe;
	rest.transform_ns = 0;
	chain_render(&rest, &job->own, kit);
	job->transform_ns += rest.transform_ns;
	job->outcome = rest.outcome;
	job->fault = rest.fault;
}

void made_map(struct job *job, struct sample_kit *kit)
{
	struct input *own = &job->own;
	job->shared = job->substituted = false;
	job->used = job->sample;
	if (job_is_unwanted(job))
		job->outcome = JOB_UNWANTED;
	else if (!own->pictured)
		map_begin(job, kit);
	else if (!own->record)
		job->outcome = JOB_AWAITS;
	else if (job->recipe->fields.made)
		job->outcome = take_arrays(job);
	else
		map_go_on(job, kit);
	if (job->outcome == JOB_DONE)
		write_numbers(job);
	if (job_is_unwanted(job))
		job->outcome = JOB_UNWANTED;
}
