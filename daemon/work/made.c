// SPDX-License-Identifier: MIT
#include "work/made.h"

#include <inttypes.h>
#include <string.h>

#include "dataset/code.h"
#include "work/chain.h"
#include "work/copy.h"

/* Rest of a record. Its producer may change the bytes at any time: each is read once. */
struct rest {
	const uint8_t *at;
	size_t bytes;
};

/* False: it has not so many bytes. */
static bool rest_take(struct rest *rest, void *out, size_t bytes)
{
	if (bytes > rest->bytes)
		return false;
	copy_past(out, rest->at, bytes);
	rest->at += bytes;
	rest->bytes -= bytes;
	return true;
}

/* Size of the numbers of a sample of a ragged field, of this shape; SIZE_MAX: more than any has. */
static size_t ragged_bytes(const struct field *field, const uint64_t *shape)
{
	size_t bytes = code_dtype_bytes(field->dtype);
	for (uint32_t i = 0; i < field->dims; i++)
		if (__builtin_mul_overflow(bytes, shape[i], &bytes))
			return SIZE_MAX;
	return bytes;
}

/* Check the shape that a record says, and copy shape and numbers into the slot. */
static enum job_outcome take_ragged(struct job *job, const struct field *field, struct rest *rest,
				    uint8_t *out)
{
	const size_t at = SEGMENT_RAGGED_AT(field->dims);
	uint64_t shape[SEGMENT_DIMS_MAX];
	if (!rest_take(rest, shape, field->dims * sizeof(*shape))) {
		fault_say(&job->fault, 1, "a record that ends in the shape of %s: give all of it",
			  field->name);
		return JOB_USER;
	}
	for (uint32_t i = 0; i < field->dims; i++)
		if (field->shape[i] && shape[i] != field->shape[i]) {
			fault_say(&job->fault, 1,
				  "%s: dimension %u of the sample has %" PRIu64
				  ", and all samples have %u there: say None there, or give that",
				  field->name, i, shape[i], field->shape[i]);
			return JOB_USER;
		}
	size_t bytes = ragged_bytes(field, shape);
	if (bytes > rest->bytes) {
		fault_say(&job->fault, 1,
			  "a record that ends in the numbers of %s: give all of them", field->name);
		return JOB_USER;
	}
	if (bytes > field->bytes - at) {
		fault_say(&job->fault, 1,
			  "%s: the sample has %zu bytes, and a slot has room for %zu: attach with "
			  "@%zu in 'arrays'",
			  field->name, bytes, field->bytes - at, bytes);
		job->larger_bytes = bytes;
		return JOB_LARGER;
	}
	memcpy(out, shape, field->dims * sizeof(*shape));
	(void)rest_take(rest, out + at, bytes);
	return JOB_DONE;
}

static enum job_outcome take_array(struct job *job, uint32_t number, struct rest *rest)
{
	const struct field *field = &job->recipe->fields.field[number];
	if (field->kind == SEGMENT_RAGGED) {
		job->larger = number;
		return take_ragged(job, field, rest, job->field[number]);
	}
	if (rest_take(rest, job->field[number], field->bytes))
		return JOB_DONE;
	fault_say(&job->fault, 1, "a record whose array %s has %zu bytes, and it needs %zu",
		  field->name, rest->bytes, field->bytes);
	return JOB_USER;
}

/* Size of a record; 0: samples differ in that. */
static size_t made_bytes(const struct fields *fields)
{
	size_t whole = 0;
	for (uint32_t i = 0; i < fields->made; i++) {
		const struct field *field = &fields->field[fields->made_at[i]];
		if (field->kind == SEGMENT_RAGGED)
			return 0;
		whole += field->bytes;
	}
	return whole;
}

/* Copy the arrays of a record into the slot. */
static enum job_outcome take_arrays(struct job *job, const struct supplied *made)
{
	const struct fields *fields = &job->recipe->fields;
	struct rest rest = {made->record, made->bytes};
	enum job_outcome outcome = JOB_DONE;
	size_t whole = made_bytes(fields);
	if (whole && made->bytes != whole) {
		fault_say(&job->fault, 1,
			  "a record of %zu bytes, and its arrays have %zu: give as many",
			  made->bytes, whole);
		return JOB_USER;
	}
	for (uint32_t i = 0; i < fields->made && outcome == JOB_DONE; i++)
		outcome = take_array(job, fields->made_at[i], &rest);
	if (outcome != JOB_DONE || rest.bytes == 0)
		return outcome;
	fault_say(&job->fault, 1, "a record of %zu bytes, and its arrays have %zu: give as many",
		  made->bytes, made->bytes - rest.bytes);
	return JOB_USER;
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
		fault_say(&job->fault, 1,
			  "a record of %zu bytes that is no PNM picture: give P5 or P6",
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
	} else if (!made || made->twice) {
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
