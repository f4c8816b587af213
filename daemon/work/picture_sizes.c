// SPDX-License-Identifier: MIT
#include "work/picture_sizes.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/thread_group.h"

#define SAMPLES_AT_ONCE 256 /* by one thread, with one decoder */

struct finding {
	const struct picture_sizes_spec *spec;
	struct image_size *out;
	uint64_t count;
	atomic_bool short_of_memory;
};

static bool is_cancelled(const struct picture_sizes_spec *spec)
{
	return atomic_load(spec->stopping) || atomic_load(&spec->progress->cancel);
}

/* Read one header. 0, or -ENOMEM; what cannot be read has no size. */
static int find_one(const struct picture_sizes_spec *spec, uint64_t sample, struct buffer *bytes,
		    struct decoder *decoder, struct image_size *out)
{
	struct fault ignored;
	int32_t width = 0, height = 0;
	int r = dataset_read(spec->dataset, sample, spec->max_bytes, bytes, NULL, &ignored);
	struct image_form form = spec->form;
	if (r == 0)
		r = decoder_begin_wide(decoder, bytes->data, bytes->size, spec->limits, spec->exif,
				       &form, &width, &height, &ignored);
	decoder_end(decoder);
	*out = r == 0 ? (struct image_size){width, height} : (struct image_size){0};
	return r < 0 ? r : 0;
}

/* a thread of the group. */
static void find_some(void *context, uint64_t number)
{
	struct finding *finding = context;
	const struct picture_sizes_spec *spec = finding->spec;
	uint64_t first = number * SAMPLES_AT_ONCE, end = first + SAMPLES_AT_ONCE;
	struct buffer bytes = BUFFER_NULL;
	struct decoder *decoder;
	int r = decoder_new(&decoder);
	if (r < 0) {
		atomic_store(&finding->short_of_memory, true);
		return;
	}
	end = end < finding->count ? end : finding->count;
	for (uint64_t i = first; i < end && r == 0 && !is_cancelled(spec); i++) {
		r = find_one(spec, i, &bytes, decoder, &finding->out[i]);
		atomic_fetch_add(&spec->progress->done, 1);
	}
	if (r < 0)
		atomic_store(&finding->short_of_memory, true);
	decoder_free(decoder);
	buffer_deinit(&bytes);
}

static int find_in_files(struct image_size *out, const struct picture_sizes_spec *spec)
{
	struct finding finding = {.spec = spec, .out = out, .count = dataset_count(spec->dataset)};
	uint64_t pieces = (finding.count + SAMPLES_AT_ONCE - 1) / SAMPLES_AT_ONCE;
	struct thread_group *group;
	int r = thread_group_begin(&group, spec->threads, pieces, find_some, &finding);
	if (r < 0)
		return r;
	thread_group_end(group);
	if (atomic_load(&finding.short_of_memory))
		return -ENOMEM;
	return is_cancelled(spec) ? PICTURE_SIZES_E_CANCELLED : 0;
}

/* A column of one number; NULL: there is none of this name. */
static const struct column *find_column(const struct dataset *dataset, const char *name)
{
	const struct columns *columns = dataset_columns(dataset);
	for (unsigned i = 0; i < columns->count; i++) {
		const struct column *column = &columns->column[i];
		if (strcmp(column->name, name) == 0 && column->kind == COLUMN_NUMBERS &&
		    column_shape(column).dims == 0)
			return column;
	}
	return NULL;
}

/* An edge in a column; 0: it is none. */
static int32_t edge_of(const struct column *column, uint64_t sample)
{
	union {
		int64_t whole;
		float number;
	} cell;
	column_read(column, sample, &cell);
	double edge = strcmp(column_shape(column).dtype, "int64") == 0 ? (double)cell.whole
								       : (double)cell.number;
	return edge >= 1 && edge <= INT32_MAX && edge == floor(edge) ? (int32_t)edge : 0;
}

int picture_sizes_find(struct image_size *out, const struct picture_sizes_spec *spec,
		       struct fault *fault)
{
	const struct dataset *dataset = spec->dataset;
	const struct column *width = find_column(dataset, "width");
	const struct column *height = find_column(dataset, "height");
	bool known = (width && height) || dataset_has_pixels(dataset);
	if (!known && dataset_is_supplied(dataset))
		return fault_say(fault, PICTURE_SIZES_E_UNKNOWN,
				 "Buckets: the pictures are made by the user's code, and nobody "
				 "knows their sizes before: use files, or a list of them with "
				 "columns width and height");
	if (!known && dataset_is_far(dataset))
		return fault_say(fault, PICTURE_SIZES_E_UNKNOWN,
				 "Buckets: the pictures lie on a server, where their sizes are not "
				 "looked for yet: use a manifest of them with columns width and "
				 "height");
	if (!known)
		return find_in_files(out, spec);
	for (uint64_t i = 0; i < dataset_count(dataset); i++) {
		if (dataset_has_pixels(dataset)) {
			const struct image image = dataset_pixels(dataset, i);
			out[i] = (struct image_size){image.width, image.height};
			continue;
		}
		out[i] = (struct image_size){edge_of(width, i), edge_of(height, i)};
		if (!out[i].width || !out[i].height)
			out[i] = (struct image_size){0};
	}
	return 0;
}
