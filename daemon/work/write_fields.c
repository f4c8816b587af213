// SPDX-License-Identifier: MIT
#include "work/write_fields.h"

#include <inttypes.h>
#include <string.h>

static const struct column *field_column(const struct job *job, uint32_t field)
{
	const struct job_recipe *recipe = job->recipe;
	return &dataset_columns(recipe->dataset)->column[recipe->fields.columns[field]];
}

static void *field_view(const struct job *job, uint32_t field, uint32_t view)
{
	return (uint8_t *)job->field[field] + view * fields_view_bytes(&job->recipe->fields, field);
}

int give_boxes(const struct job *job, uint64_t sample, struct pipeline_scratch *scratch)
{
	const struct column *column = NULL;
	uint32_t count;
	if (pipeline_boxed(job->recipe->pipeline))
		column = columns_boxes(dataset_columns(job->recipe->dataset));
	if (!column)
		return 0;
	const float *numbers = column_list(column, sample, &count);
	return pipeline_give_boxes(scratch, numbers, count / 4);
}

/* The tile that the sample is in a mosaic; NULL: it is none. */
static const struct tile *tile_of_job(const struct job *job)
{
	return job->recipe->fields.partners == JOB_PARTNERS_MAX ? &job->tile : NULL;
}

/* Write what transforms say of a picture of width x height. */
static void write_drawn(const struct job *job, uint32_t view, int32_t width, int32_t height,
			const struct pipeline_scratch *scratch)
{
	const struct fields *fields = &job->recipe->fields;
	if (fields->real)
		pipeline_real(scratch, tile_of_job(job), width, height,
			      field_view(job, fields->real, view));
	if (fields->crop)
		pipeline_crop(scratch, field_view(job, fields->crop, view));
	if (fields->original) {
		float *original = field_view(job, fields->original, view);
		original[0] = (float)height;
		original[1] = (float)width;
	}
}

void write_annotations(const struct job *job, uint64_t sample, uint32_t view, int32_t width,
		       int32_t height, const struct pipeline_scratch *scratch)
{
	const struct fields *fields = &job->recipe->fields;
	write_drawn(job, view, width, height, scratch);
	for (uint32_t i = FIELD_FURTHER; i < fields->count; i++) {
		if (fields->columns[i] == FIELD_NO_COLUMN)
			continue;
		const struct column *column = field_column(job, i);
		if (column->kind != COLUMN_BOXES && column->kind != COLUMN_POINTS)
			continue;
		float *out = field_view(job, i, view);
		column_read(column, sample, out);
		pipeline_move(scratch, tile_of_job(job), out, column_shape(column).shape[0],
			      column->kind == COLUMN_BOXES);
	}
}

/* Bytes of a number of the mask. */
static unsigned mask_bytes(const struct job *job)
{
	return column_mask_bytes(field_column(job, job->recipe->fields.mask));
}

static int32_t mask_id(const uint8_t pixel[3])
{
	return pixel[0] | pixel[1] << 8 | pixel[2] << 16;
}

/* Check that each pixel that is needed has an id that the row names, if it names them. */
static int mask_check_ids(const struct job *job, uint64_t sample, const struct image *image,
			  struct rect need, struct fault *fault)
{
	const struct column *segments =
		columns_numbers(dataset_columns(job->recipe->dataset), COLUMN_SEGMENTS);
	int32_t known = 0; /* 0 is of no segment */
	for (int32_t y = need.y; segments && y < need.y + need.height; y++) {
		const uint8_t *pixel = image->pixels + (size_t)(y - image->area.y) * image->stride +
				       (size_t)(need.x - image->area.x) * 3;
		for (int32_t x = need.x; x < need.x + need.width; x++, pixel += 3) {
			const int32_t id = mask_id(pixel);
			if (id == known)
				continue;
			if (id && !column_has_number(segments, sample, id))
				return fault_say(fault, DECODE_E_UNSUPPORTED,
						 "the mask's pixel (%d, %d) has the id %d, which "
						 "is not in the row's " COLUMN_SEGMENTS
						 ": name the mask of this picture, or add the id",
						 x, y, id);
			known = id;
		}
	}
	return 0;
}

/* Check that each pixel that is needed is a number of so many bits. */
static int mask_check(const struct decoder *decoder, const struct image *image, struct rect need,
		      bool wide, struct fault *fault)
{
	for (int32_t y = need.y; y < need.y + need.height; y++) {
		const uint8_t *pixel = image->pixels + (size_t)(y - image->area.y) * image->stride +
				       (size_t)(need.x - image->area.x) * 3;
		for (int32_t x = need.x; x < need.x + need.width; x++, pixel += 3) {
			int32_t number = decoder_number(decoder, pixel);
			if (wide && number < 0)
				return fault_say(
					fault, DECODE_E_UNSUPPORTED,
					"the mask's pixel (%d, %d) is a colour or a "
					"number that is not of 16 bits: store its classes as "
					"grey or as indices of a palette",
					x, y);
			if (!wide && (number < 0 || number > 255))
				return fault_say(fault, DECODE_E_UNSUPPORTED,
						 "the mask's pixel (%d, %d) is a colour or a "
						 "number above 255: a mask is read as uint8; store "
						 "its classes as grey or as indices of a palette, "
						 "of 8 bits, or call the column mask16",
						 x, y);
		}
	}
	return 0;
}

void write_mask(struct job *job, uint64_t sample, const struct buffer *file, uint32_t view,
		int32_t width, int32_t height, struct decoder *decoder,
		struct pipeline_scratch **scratch)
{
	const struct job_recipe *recipe = job->recipe;
	const struct draw_key key = draw_view(&job->key, view);
	const unsigned bytes = mask_bytes(job);
	int32_t own_width, own_height;
	struct rect need;
	struct image image;
	int r = decoder_begin(decoder, file->data, file->size, &recipe->limits, recipe->exif,
			      &own_width, &own_height, &job->fault);
	job->outcome = outcome_of_decode(r);
	if (job->outcome != JOB_DONE)
		return;
	if (own_width != width || own_height != height) {
		job->outcome = JOB_TRANSFORM;
		fault_say(&job->fault, 1,
			  "the mask is %d x %d but the picture is %d x %d: save both in one size",
			  own_width, own_height, width, height);
		return;
	}
	if (bytes == 4 && !decoder_has_ids(decoder)) {
		job->outcome = outcome_of_decode(DECODE_E_UNSUPPORTED);
		fault_say(&job->fault, 1,
			  "a panoptic mask is a PNG whose colours of 8 bits are ids, R + 256 G + "
			  "65536 B, and this picture is not: save it so, or call the column mask");
		return;
	}
	decoder_set_mask(decoder);
	r = *scratch ? 0 : pipeline_scratch_new(scratch);
	if (r == 0)
		r = give_boxes(job, sample, *scratch);
	if (r == 0)
		r = pipeline_draw_mask(recipe->pipeline, &key, width, height, *scratch, &need,
				       &job->fault);
	job->outcome = outcome_of_pipeline(r);
	if (job->outcome != JOB_DONE)
		return;
	r = decoder_read(decoder, need, &image, &job->fault);
	if (r == 0)
		r = bytes == 4 ? mask_check_ids(job, sample, &image, need, &job->fault)
			       : mask_check(decoder, &image, need, bytes == 2, &job->fault);
	job->outcome = outcome_of_decode(r);
	if (job->outcome == JOB_DONE)
		job->outcome = outcome_of_pipeline(
			pipeline_apply_mask(recipe->pipeline, &image, *scratch, bytes,
					    field_view(job, recipe->fields.mask, view)));
}

/* Read the label of the sample that was used. Of one that may differ at each visit it is the one
 * that came with these bytes. */
static void read_label(const struct job *job, void *out)
{
	if (dataset_is_pure(job->recipe->dataset))
		dataset_read_label(job->recipe->dataset, job->used, out);
	else
		memcpy(out, &job->own.label, sizeof(job->own.label));
}

/* Write the label as a vector with a 1 at the class and 0 elsewhere. */
static void write_one_hot(struct job *job)
{
	uint32_t classes = job->recipe->fields.classes;
	float *out = job->field[FIELD_LABEL];
	int64_t label;
	read_label(job, &label);
	memset(out, 0, classes * sizeof(*out));
	if (label >= 0 && label < classes) {
		out[label] = 1.0f;
		return;
	}
	job->outcome = JOB_TRANSFORM;
	job->substituted = false;
	fault_say(&job->fault, 1,
		  "one_hot: the label %" PRId64 " is not one of the %" PRIu32
		  " classes: give the dataset 'classes' above it",
		  label, classes);
}

/* Does the user's code make this one? */
static bool field_is_made(const struct fields *fields, uint32_t field)
{
	for (uint32_t i = 0; i < fields->made; i++)
		if (fields->made_at[i] == field)
			return true;
	return false;
}

void write_numbers(struct job *job)
{
	const struct fields *fields = &job->recipe->fields;
	int64_t index = (int64_t)job->used;
	memcpy(job->field[FIELD_INDEX], &index, sizeof(index));
	if (fields->classes)
		write_one_hot(job);
	else if (!field_is_made(fields, FIELD_LABEL))
		read_label(job, job->field[FIELD_LABEL]);
	for (uint32_t i = FIELD_FURTHER; i < fields->count; i++) {
		if (fields->columns[i] == FIELD_NO_COLUMN)
			continue;
		const struct column *column = field_column(job, i);
		if (column->kind == COLUMN_NUMBERS || column->kind == COLUMN_BYTES)
			column_read(column, job->used, job->field[i]);
	}
}

/* The masks of instances of a tile, behind those of the tiles before it. */
static void write_tile_instances(struct job *job, uint32_t number, const struct job *from)
{
	const struct fields *fields = &job->recipe->fields;
	const uint32_t count = fields_instances(fields);
	const size_t bytes = fields_tile_bytes(fields, fields->instances);
	const size_t plane = (size_t)from->tile.width * (size_t)from->tile.height;
	const uint8_t *in = from->field[fields->instances];
	uint8_t *out = (uint8_t *)job->field[fields->instances] + number * bytes;
	for (uint32_t i = 0; i < count; i++) {
		tile_copy(&from->tile, 1, in + i * plane, out + i * plane);
		tile_clear_others(&from->tile, 1, out + i * plane);
	}
}

/* Copy what a tile shows of an image. */
static void write_tile_image(struct job *job, const struct job *from)
{
	const struct pipeline_output array = pipeline_output(job->recipe->pipeline);
	const size_t planes = strcmp(array.layout, "NCHW") == 0 ? array.shape[0] : 1;
	const size_t bytes = array.bytes / planes;
	const size_t pixel = bytes / ((size_t)from->tile.width * (size_t)from->tile.height);
	const uint8_t *in = from->field[FIELD_IMAGE];
	uint8_t *out = job->field[FIELD_IMAGE];
	for (size_t i = 0; i < planes; i++)
		tile_copy(&from->tile, pixel, in + i * bytes, out + i * bytes);
}

/* The classes of a tile count by its share, in float32, the own sample first. */
static void write_tile_label(struct job *job, const struct job *from)
{
	const float share = tile_share(&from->tile);
	const float *in = from->field[FIELD_LABEL];
	float *out = job->field[FIELD_LABEL];
	for (uint32_t i = 0; i < job->recipe->fields.classes; i++) {
		const float part = in[i] * share;
		out[i] = from == job ? part : out[i] + part;
	}
}

void write_tile(struct job *job, uint32_t number, const struct job *from)
{
	const struct fields *fields = &job->recipe->fields;
	write_tile_image(job, from);
	if (fields->mask)
		tile_copy(&from->tile, mask_bytes(job), from->field[fields->mask],
			  job->field[fields->mask]);
	if (fields->classes)
		write_tile_label(job, from);
	for (uint32_t i = FIELD_LABEL; i < fields->count; i++) {
		const size_t bytes = fields_tile_bytes(fields, i);
		if (i == fields->instances)
			write_tile_instances(job, number, from);
		else if (bytes && from != job)
			memcpy((uint8_t *)job->field[i] + number * bytes, from->field[i], bytes);
	}
}
