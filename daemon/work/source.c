// SPDX-License-Identifier: MIT
#include "work/source.h"

#include <errno.h>
#include <string.h>

#include "decode/codec.h"
#include "stage/stage.h"
#include "work/job.h"

struct picture_key source_key(const struct input *input, const struct job_recipe *recipe)
{
	return (struct picture_key){
		.sample = input->sample, .stamp = input->source.stamp, .exif = recipe->exif};
}

/* Find what is kept of the sample if its file has not changed. */
static bool source_find(struct input *input, const struct job_recipe *recipe, bool pixels)
{
	static const enum source_kind kinds[] = {[KEPT_IN_MEMORY] = SOURCE_KEPT,
						 [KEPT_ON_DISK] = SOURCE_STORED,
						 [KEPT_FILE] = SOURCE_FILE};
	struct source *source = &input->source;
	if (!keeper_may_have(&recipe->keeper, input->sample))
		return false;
	stage_use_set(recipe->staged, input->sample);
	bool same = dataset_stamp_kept(recipe->dataset, input->sample, &source->stamp);
	stage_use_set(NULL, 0); /* nothing was read */
	if (!same)
		return false;
	const struct picture_key key = source_key(input, recipe);
	enum kept_kind kept =
		keeper_find(&recipe->keeper, &key, pixels, &source->picture, &source->bytes);
	if (kept == KEPT_NOTHING)
		return false;
	source->kind = kinds[kept];
	source->rewritten = kept == KEPT_FILE;
	return true;
}

/* Find what a producer made of it, or ask for that. */
static enum job_outcome source_take_record(struct input *input, const struct job_recipe *recipe)
{
	struct source *source = &input->source;
	const struct supply_key key = {false, input->sample, input->place};
	const struct supplied *made = supply_find(input->supply, &key);
	if (!made || made->twice)
		return supply_want(input->supply, &key);
	if (made->outcome != JOB_DONE) {
		source->fault = made->fault;
		return made->outcome;
	}
	input->label = 0;
	if (recipe->purpose->copies)
		return JOB_DONE;
	const size_t size = made->bytes;
	if (size <= sizeof(input->label) || size - sizeof(input->label) > recipe->max_bytes) {
		fault_say(
			&source->fault, 1,
			"a record of %zu bytes: it must have a label of 8 bytes and then a file's "
			"bytes, at most %zu",
			size, recipe->max_bytes);
		return size <= sizeof(input->label) ? JOB_USER : JOB_LIMIT;
	}
	memcpy(&input->label, made->copy.data, sizeof(input->label));
	source->lent = (struct buffer){.data = made->copy.data + sizeof(input->label),
				       .size = size - sizeof(input->label)};
	return outcome_of_read(dataset_supply(recipe->dataset, input->sample, input->label,
					      &source->lent, &source->stamp, &source->fault));
}

static void source_read_file(struct input *input, const struct job_recipe *recipe,
			     struct stage_reads *reads)
{
	struct source *source = &input->source;
	stage_use_set(recipe->staged, input->sample);
	source->outcome =
		outcome_of_read(dataset_read(recipe->dataset, input->sample, recipe->max_bytes,
					     &source->bytes, &source->stamp, &source->fault));
	stage_use_end(reads);
}

void source_read(struct input *input, const struct job_recipe *recipe, uint64_t sample, bool pixels,
		 struct stage_reads *reads)
{
	struct source *source = &input->source;
	source_release(source);
	input->sample = sample;
	source->outcome = JOB_DONE;
	pixels = pixels && !source_is_wide(recipe);
	source->bytes.size = source->bytes_read = 0;
	source->rewritten = false;
	source->kind = dataset_has_pixels(recipe->dataset) ? SOURCE_ARRAY : SOURCE_FILE;
	if (recipe->purpose->copies) {
		source->outcome = source_take_record(input, recipe);
		return;
	}
	if (source->kind == SOURCE_ARRAY || source_find(input, recipe, pixels))
		return;
	if (dataset_is_supplied(recipe->dataset) && recipe->purpose->has_slot)
		source->outcome = source_take_record(input, recipe);
	else
		source_read_file(input, recipe, reads);
	if (source->outcome != JOB_DONE)
		source->bytes.size = source->lent.size = 0;
	source->bytes_read = source->lent.data ? source->lent.size : source->bytes.size;
	/* A file of the same content may have been decoded, also for another dataset. */
	const struct picture_key key = source_key(input, recipe);
	if (source->outcome == JOB_DONE && pixels &&
	    keeper_has_stored_pixels(&recipe->keeper, &key))
		source->kind = SOURCE_STORED;
	if (source->outcome == JOB_CHANGED && recipe->keeper.pictures)
		picture_set_forget(recipe->keeper.pictures, sample);
}

void source_read_mask(struct input *input, const struct job_recipe *recipe, uint64_t sample,
		      struct stage_reads *reads)
{
	struct source *source = &input->source;
	input->sample = sample;
	source->kind = SOURCE_FILE;
	stage_use_set(recipe->staged, sample);
	source->outcome = outcome_of_read(dataset_read_mask(
		recipe->dataset, sample, recipe->max_bytes, &source->bytes, &source->fault));
	stage_use_end(reads);
	source->bytes_read = source->bytes.size;
}

void source_release(struct source *source)
{
	picture_unpin(source->picture);
	source->picture = NULL;
	source->lent = BUFFER_NULL;
}

void source_deinit(struct source *source)
{
	source_release(source);
	buffer_deinit(&source->bytes);
}

const struct buffer *source_bytes(const struct source *source)
{
	if (source->picture)
		return &source->picture->memory;
	return source->lent.data ? &source->lent : &source->bytes;
}

/* -- begin -------------------------------------------------------------------------------- */

static int array_begin(void *state, const struct codec_input *input, struct codec_header *out,
		       struct fault *fault)
{
	const struct image *image = &((const struct source_view *)state)->array;
	(void)input, (void)fault;
	*out = (struct codec_header){.width = image->width,
				     .height = image->height,
				     .orientation = 1,
				     .form = image->form};
	return 0;
}

/* The numbers of a part as float32, as those of a file with 16 bits. */
static int array_widen(const struct image *array, struct rect need, struct buffer *pixels,
		       struct image *out, struct fault *fault)
{
	const struct codec_header header = {
		.width = array->width,
		.height = array->height,
		.form = {IMAGE_FLOAT32, array->form.channels},
	};
	const size_t pixel = image_pixel_bytes(array->form);
	const size_t count = (size_t)need.width * array->form.channels;
	if (codec_reserve(&header, need, pixels, out) < 0)
		return fault_say(fault, -ENOMEM, "out of memory while reading an array");
	for (int32_t y = 0; y < need.height; y++) {
		const void *from = array->pixels + (size_t)(need.y + y) * array->stride +
				   (size_t)need.x * pixel;
		const uint16_t *numbers = from;
		float *to = (float *)(void *)(pixels->data + (size_t)y * out->stride);
		for (size_t i = 0; i < count; i++)
			to[i] = numbers[i];
	}
	return 0;
}

static int array_read(void *state, const struct codec_input *input, struct rect need,
		      struct buffer *pixels, struct image *out, struct fault *fault)
{
	const struct source_view *view = state;
	(void)input;
	if (view->floats)
		return array_widen(&view->array, need, pixels, out, fault);
	*out = view->array;
	return 0;
}

static const struct codec codec_array = {.name = "array", .begin = array_begin, .read = array_read};

bool source_is_wide(const struct job_recipe *recipe)
{
	return recipe->pipeline && pipeline_form(recipe->pipeline).type;
}

static int file_begin(struct decoder *decoder, const struct job_recipe *recipe,
		      const struct input *input, const struct decode_limits *limits,
		      int32_t *width_out, int32_t *height_out, struct fault *fault)
{
	const struct source *source = &input->source;
	const struct buffer *bytes = source_bytes(source);
	struct decode_origin origin = {recipe->seek_indexes, input->sample, source->stamp};
	if (source->rewritten) /* it has a seek index of its own */
		origin.stamp = (struct stamp){bytes->size, ~source->stamp.content};
	struct image_form form =
		recipe->pipeline ? pipeline_form(recipe->pipeline) : (struct image_form){0};
	int r = decoder_begin_wide(decoder, bytes->data, bytes->size, limits, recipe->exif, &form,
				   width_out, height_out, fault);
	if (r == 0)
		decoder_set_origin(decoder, &origin);
	return r;
}

int source_begin(struct source_view *view, struct decoder *decoder, const struct job_recipe *recipe,
		 const struct input *input, const struct decode_limits *limits, int32_t *width_out,
		 int32_t *height_out, struct fault *fault)
{
	struct kept_view *kept = &view->kept;
	decoder_end(decoder); /* it may use the view */
	switch (input->source.kind) {
	case SOURCE_FILE:
		return file_begin(decoder, recipe, input, limits, width_out, height_out, fault);
	case SOURCE_ARRAY:
		view->array = dataset_pixels(recipe->dataset, input->sample);
		view->floats = view->array.form.type == IMAGE_UINT16 && source_is_wide(recipe) &&
			       pipeline_form(recipe->pipeline).type == IMAGE_FLOAT32;
		return decoder_begin_pixels(decoder, &codec_array, view, width_out, height_out,
					    fault);
	case SOURCE_KEPT:
	case SOURCE_STORED:
		break;
	}
	kept_view_init(kept);
	kept->keeper = &recipe->keeper;
	kept->key = source_key(input, recipe);
	kept->picture = input->source.picture;
	return decoder_begin_pixels(decoder, kept->picture ? &codec_kept : &codec_stored, kept,
				    width_out, height_out, fault);
}
