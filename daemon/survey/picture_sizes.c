// SPDX-License-Identifier: MIT
#include "survey/picture_sizes.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread_group.h"
#include "storage/storage.h"
#include "survey/kept_sizes.h"

#define SAMPLES_AT_ONCE 256 /* by one thread, with one decoder */
/* So many headers, or those of so long, tell how long all will take. */
#define LOOKS 1024
#define LOOK_NS ((uint64_t)10 * 1000000000)

struct finding {
	const struct picture_sizes_spec *spec;
	struct kept_sizes kept;
	uint64_t begun_ns;
	_Atomic uint64_t expected_ns; /* longer than the patience; 0: it is not */
	atomic_bool short_of_memory;
};

static bool is_over(struct finding *finding)
{
	const struct picture_sizes_spec *spec = finding->spec;
	return atomic_load(spec->stopping) || atomic_load(&spec->progress->cancel) ||
	       atomic_load(&finding->expected_ns) || atomic_load(&finding->short_of_memory);
}

/* One more header was read: is there patience for the others? */
static void note_read(struct finding *finding)
{
	const struct picture_sizes_spec *spec = finding->spec;
	uint64_t read = atomic_fetch_add(&spec->progress->read, 1) + 1;
	uint64_t took_ns = clock_ns() - finding->begun_ns;
	if (!spec->patience_ns || (read < LOOKS && took_ns < LOOK_NS))
		return;
	double left = (double)(finding->kept.count - atomic_load(&spec->progress->done));
	double expected_ns = (double)took_ns / (double)read * left;
	if (expected_ns > (double)spec->patience_ns && expected_ns < 1e18)
		atomic_store(&finding->expected_ns, (uint64_t)expected_ns);
}

static int begin(const struct picture_sizes_spec *spec, struct decoder *decoder,
		 const struct buffer *bytes, struct image_size *out)
{
	struct image_form form = spec->form;
	struct fault ignored;
	int r = decoder_begin_wide(decoder, bytes->data, bytes->size, spec->limits, spec->exif,
				   &form, &out->width, &out->height, &ignored);
	decoder_end(decoder);
	return r;
}

/* Can the first bytes of a file say all of its size? How a picture is turned may stand behind the
 * pixels, but for JPEG. */
static bool head_is_enough(const struct picture_sizes_spec *spec, const struct buffer *head)
{
	bool jpeg = head->size > 2 && head->data[0] == 0xFF && head->data[1] == 0xD8;
	return head->size < STORAGE_HEAD_BYTES || !spec->exif || jpeg;
}

/* Read one header, of the file's first bytes or, if they will not do, of all. 0, or -ENOMEM; what
 * cannot be read has no size, and no mark. */
static int read_one(const struct picture_sizes_spec *spec, uint64_t sample, struct buffer *bytes,
		    struct decoder *decoder, struct kept_size *out)
{
	struct fault ignored;
	struct kept_size found = {0};
	int r = dataset_read_head(spec->dataset, sample, spec->max_bytes, bytes, &found.mark,
				  &ignored);
	bool whole = r == 0 && bytes->size < STORAGE_HEAD_BYTES;
	if (r == 0 && head_is_enough(spec, bytes))
		r = begin(spec, decoder, bytes, &found.size);
	else if (r == 0)
		r = DECODE_E_FORMAT;
	if (r > 0 && !whole) {
		r = dataset_read(spec->dataset, sample, spec->max_bytes, bytes, NULL, &ignored);
		r = r ? r : begin(spec, decoder, bytes, &found.size);
	}
	if (r)
		found.size = (struct image_size){0};
	*out = found;
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
	end = end < finding->kept.count ? end : finding->kept.count;
	for (uint64_t i = first; i < end && r == 0 && !is_over(finding); i++) {
		struct kept_size *kept = &finding->kept.sizes[i];
		if (!kept->mark || kept->mark != dataset_mark(spec->dataset, i)) {
			r = read_one(spec, i, &bytes, decoder, kept);
			note_read(finding);
		}
		atomic_fetch_add(&spec->progress->done, 1);
	}
	if (r < 0)
		atomic_store(&finding->short_of_memory, true);
	decoder_free(decoder);
	buffer_deinit(&bytes);
}

static int finding_end(struct finding *finding, struct fault *fault)
{
	const struct picture_sizes_spec *spec = finding->spec;
	uint64_t expected_ns = atomic_load(&finding->expected_ns);
	if (atomic_load(&finding->short_of_memory))
		return -ENOMEM;
	if (atomic_load(spec->stopping) || atomic_load(&spec->progress->cancel))
		return PICTURE_SIZES_E_CANCELLED;
	if (!expected_ns)
		return 0;
	return fault_say(fault, PICTURE_SIZES_E_UNKNOWN,
			 "Buckets: to read the headers of %llu pictures would take %.1f hours: "
			 "have `stokerctl index` read them before, which keeps them where the "
			 "daemon has an index-dir, or say the sizes in columns width and height",
			 (unsigned long long)finding->kept.count, (double)expected_ns / 3600e9);
}

static int find_in_files(struct image_size *out, const struct picture_sizes_spec *spec,
			 struct fault *fault)
{
	static const struct keep_file nowhere = {.folder = NULL};
	const struct keep_file *keep = spec->keep ? spec->keep : &nowhere;
	struct finding finding = {.spec = spec, .begun_ns = clock_ns()};
	struct thread_group *group;
	int r = kept_sizes_load(&finding.kept, keep, dataset_count(spec->dataset));
	if (r < 0)
		return r;
	uint64_t pieces = (finding.kept.count + SAMPLES_AT_ONCE - 1) / SAMPLES_AT_ONCE;
	r = thread_group_begin(&group, spec->threads, pieces, find_some, &finding);
	if (r == 0) {
		thread_group_end(group);
		r = finding_end(&finding, fault);
	}
	if (atomic_load(&spec->progress->read)) /* also of a search that was ended */
		(void)kept_sizes_save(&finding.kept, keep);
	for (uint64_t i = 0; out && r == 0 && i < finding.kept.count; i++)
		out[i] = finding.kept.sizes[i].size;
	kept_sizes_deinit(&finding.kept);
	return r;
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

bool picture_sizes_are_known(const struct dataset *dataset)
{
	return dataset_has_pixels(dataset) ||
	       (find_column(dataset, "width") && find_column(dataset, "height"));
}

int picture_sizes_find(struct image_size *out, const struct picture_sizes_spec *spec,
		       struct fault *fault)
{
	const struct dataset *dataset = spec->dataset;
	const struct column *width = find_column(dataset, "width");
	const struct column *height = find_column(dataset, "height");
	bool known = picture_sizes_are_known(dataset);
	if (!known && dataset_is_supplied(dataset))
		return fault_say(fault, PICTURE_SIZES_E_UNKNOWN,
				 "Buckets: the pictures are made by the user's code, and nobody "
				 "knows their sizes before: use files, or a list of them with "
				 "columns width and height");
	if (!known)
		return find_in_files(out, spec, fault);
	for (uint64_t i = 0; out && i < dataset_count(dataset); i++) {
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
