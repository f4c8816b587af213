// SPDX-License-Identifier: MIT
#include "work/made.h"

#include <string.h>

#include "work/chain.h"

/* Copy the arrays of a record into the slot. */
static enum job_outcome take_arrays(struct job *job, const struct supplied *made)
{
	const struct fields *fields = &job->recipe->fields;
	const uint8_t *from = made->record;
	size_t whole = 0;
	for (uint32_t i = 0; i < fields->made; i++)
		whole += fields->field[fields->made_at[i]].bytes;
	if (made->bytes != whole) {
		fault_say(&job->fault, 1, "a record of %zu bytes, and its arrays have %zu",
			  made->bytes, whole);
		return JOB_USER;
	}
	for (uint32_t i = 0; i < fields->made; i++) {
		size_t bytes = fields->field[fields->made_at[i]].bytes;
		memcpy(job->field[fields->made_at[i]], from, bytes);
		from += bytes;
	}
	return JOB_DONE;
}

/* Make the picture that a Map's code gets. */
static void map_begin(struct job *job, struct input *input, const struct supply_key *key,
		      struct sample_kit *kit)
{
	struct supply *supply = input->supply;
	struct job_recipe recipe = *job->recipe;
	recipe.pipeline = pipeline_front(recipe.pipeline);
	recipe.fields = (struct fields){.count = FIELD_FURTHER, .views = 1};
	struct job front = {
		.recipe = &recipe,
		.key = job->key,
		.sample = input->sample,
		.entry = job->entry,
		.owner = job->owner,
		.unwanted = job->unwanted,
		.field = {&supply->picture},
	};
	chain_render(&front, input, kit);
	job->decoded |= front.decoded;
	job->clips |= front.clips;
	job->transform_ns += front.transform_ns;
	job->staged.hits += front.staged.hits;
	job->staged.misses += front.staged.misses;
	job->outcome = front.outcome == JOB_DONE ? supply_want(supply, key) : front.outcome;
	job->fault = front.fault;
}

/* A picture, and no file of other formats: what a picture costs is known by its size. */
static bool is_picture(const struct buffer *file)
{
	return file->size > 2 && file->data[0] == 'P' &&
	       (file->data[1] == '5' || file->data[1] == '6');
}

/* Go on with the picture that the code gave. It is kept nowhere: it may differ each time. */
static void map_go_on(struct job *job, const struct supplied *made, struct sample_kit *kit)
{
	struct job_recipe recipe = *job->recipe;
	struct input input = {
		.sample = made->key.sample,
		.source = {.kind = SOURCE_FILE,
			   .lent = {.data = made->copy.data, .size = made->bytes},
			   .outcome = JOB_DONE},
	};
	job->outcome = JOB_USER;
	if (!is_picture(&input.source.lent)) {
		fault_say(&job->fault, 1, "a record of %zu bytes that is no PNM picture (P5, P6)",
			  made->bytes);
		return;
	}
	recipe.keeper = (struct keeper){.pictures = NULL};
	recipe.seek_indexes = NULL;
	recipe.exif = false;
	struct job rest = *job;
	rest.recipe = &recipe;
	rest.transform_ns = 0;
	chain_render(&rest, &input, kit);
	decoder_end(kit->decoder); /* it reads this input */
	job->transform_ns += rest.transform_ns;
	job->outcome = rest.outcome;
	job->fault = rest.fault;
}

void made_render(struct job *job, struct input *input, struct sample_kit *kit)
{
	const struct supply_key key = {job->recipe->purpose->maps, input->sample, job->key};
	const struct supplied *made = supply_find(input->supply, &key);
	if (!made && key.mapped) {
		map_begin(job, input, &key, kit);
	} else if (!made) {
		job->outcome = supply_want(input->supply, &key);
	} else if (made->outcome != JOB_DONE) {
		job->outcome = made->outcome;
		job->fault = made->fault;
	} else if (job->recipe->fields.made) {
		job->outcome = take_arrays(job, made);
	} else {
		map_go_on(job, made, kit);
	}
}
