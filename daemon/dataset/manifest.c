// SPDX-License-Identifier: MIT
#include "dataset/manifest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/line.h"
#include "base/quote.h"
#include "dataset/arrays/bundle.h"
#include "dataset/files.h"

/* NULL, or what is wrong with a path. Links are checked when the file is read. */
static const char *manifest_check_path(const char *path, size_t size)
{
	if (size == 0)
		return "the path is empty";
	if (size >= INDEX_PATH_MAX)
		return "the path is longer than 4095 bytes";
	if (path[0] == '/')
		return "the path is absolute: write it relative to the dataset's root";
	if (path[size - 1] == '/')
		return "the path is a folder, because it ends in a slash";
	long depth = 0;
	for (size_t at = 0; at < size;) {
		size_t end = at;
		while (end < size && path[end] != '/')
			end++;
		size_t part = end - at;
		if (part > 255)
			return "a name in the path is longer than 255 bytes";
		if (part == 2 && memcmp(path + at, "..", 2) == 0)
			depth--;
		else if (part > 0 && !(part == 1 && path[at] == '.'))
			depth++;
		if (depth < 0)
			return "the path leads out of the dataset's root";
		at = end + 1;
	}
	return NULL;
}

/* The same conditions as labels_add() and index_add(). */
static int manifest_add_sample(struct index *index, const struct row *row)
{
	const char *slash = memrchr(row->path, '/', row->path_size);
	size_t folder = slash ? (size_t)(slash - row->path) : 0;
	size_t name = slash ? folder + 1 : 0;
	uint32_t directory;
	int result = index_find_directory(index, row->path, folder, &directory);
	if (result)
		return result;
	return index_add(index, directory, row->path + name, row->path_size - name, INDEX_NO_SIZE);
}

static int manifest_check_paths(const struct row *row, struct fault *fault)
{
	struct quote quote;
	const char *wrong = manifest_check_path(row->path, row->path_size);
	if (wrong)
		return fault_say(fault, ROW_E_BAD, "%s: '%s'", wrong,
				 quote_bytes(&quote, row->path, row->path_size));
	for (uint32_t i = 0; i < row->cell_count; i++) {
		const struct cell *cell = &row->cells[i];
		if (cell->kind != COLUMN_MASK)
			continue;
		wrong = manifest_check_path(cell->text, cell->text_size);
		if (wrong)
			return fault_say(fault, ROW_E_BAD, "mask: %s: '%s'", wrong,
					 quote_bytes(&quote, cell->text, cell->text_size));
	}
	return 0;
}

/* 0, ROW_E_BAD or -ENOMEM. */
static int manifest_add(struct index *index, const struct row *row, struct fault *fault)
{
	int result = manifest_check_paths(row, fault);
	if (result)
		return result;
	result = manifest_add_sample(index, row);
	if (result == INDEX_E_FULL)
		return fault_say(fault, ROW_E_BAD,
				 "more samples or folders than an index can hold (%" PRIu64 ", %u)",
				 INDEX_SAMPLES_MAX, INDEX_DIRECTORIES_MAX);
	if (!result)
		result = index_add_labels(index, row->labels, row->count);
	if (result == LABELS_E_COUNT)
		return fault_say(fault, ROW_E_BAD, "the row has %u labels and the first row %u",
				 row->count, index_labels(index)->count);
	if (!result)
		result = index_add_cells(index, row->cells, row->cell_count, fault);
	return result == COLUMN_E_BAD ? ROW_E_BAD : result;
}

static int manifest_parse_rows(struct index *index, struct line_reader *lines, const char *name,
			       const struct row_format *format, struct row *row,
			       struct dataset_progress *progress, struct fault *fault)
{
	struct quote quote;
	for (;;) {
		char *line;
		size_t size;
		if (atomic_load_explicit(&progress->cancel, memory_order_relaxed))
			return fault_say(fault, DATASET_E_CANCELLED, "indexing was cancelled");
		struct fault why;
		int result = line_next(lines, &line, &size);
		if (result)
			result = fault_say(&why, ROW_E_BAD, "%s", line_words(result));
		else if (!line)
			return 0;
		else
			result = format->parse(row, line, size, &why);
		if (!result)
			result = manifest_add(index, row, &why);
		if (result < 0)
			return result;
		if (result == ROW_E_BAD)
			return fault_say(fault, DATASET_E_OPEN, "%s:%" PRIu64 ": %s",
					 quote_text(&quote, name), lines->line, why.text);
		if (result == 0)
			atomic_fetch_add_explicit(&progress->found, 1, memory_order_relaxed);
	}
}

int manifest_parse(struct index *index, int fd, const char *name, const struct row_format *format,
		   struct dataset_progress *progress, struct fault *fault)
{
	struct line_reader lines;
	struct row *row = calloc(1, sizeof(*row));
	int result = line_reader_init(&lines, fd, format->quotes);
	if (!row)
		result = -ENOMEM;
	if (!result)
		result = manifest_parse_rows(index, &lines, name, format, row, progress, fault);
	line_reader_deinit(&lines);
	if (row)
		row_deinit(row);
	free(row);
	return result;
}

static int manifest_choose_format(const struct row_format **out, const struct dataset_spec *spec,
				  struct fault *fault)
{
	struct quote quote;
	*out = spec->format ? row_format_named(spec->format) : row_format_of(spec->path);
	if (*out)
		return 0;
	if (bundle_is_archive(spec->path))
		return fault_say(
			fault, DATASET_E_ARGUMENT,
			"the archive %s cannot be read, or has no files of CIFAR-10, CIFAR-100 or "
			"MNIST: unpack other archives; for the reason give kind = cifar10, "
			"cifar100 or mnist",
			quote_text(&quote, spec->path));
	return fault_say(fault, DATASET_E_ARGUMENT,
			 "%s is neither a folder nor named like a manifest (.txt .tsv .csv "
			 ".jsonl): name a folder, or give format = lines, tsv, csv or jsonl",
			 quote_text(&quote, spec->path));
}

/* A descriptor of the manifest, or -1 with the words in `fault`. */
static int manifest_open_text(const char *path, struct fault *fault)
{
	struct quote quote;
	struct fault why;
	int fd = -1;
	uint64_t size;
	if (storage_open_file(path, &fd, &size, &why))
		fault_say(fault, DATASET_E_OPEN, "cannot read the manifest %s: %s",
			  quote_text(&quote, path), why.text);
	return fd;
}

static int manifest_new_files(struct files **out, const struct dataset_spec *spec,
			      struct fault *fault)
{
	if (spec->root)
		return files_new(out, spec->root, "manifest", fault);
	const char *slash = strrchr(spec->path, '/'); /* there is one: the path is absolute */
	char *root = strndup(spec->path, slash == spec->path ? 1 : (size_t)(slash - spec->path));
	if (!root)
		return -ENOMEM;
	int result = files_new(out, root, "manifest", fault);
	free(root);
	return result;
}

static int manifest_open(void **state_out, const struct dataset_spec *spec,
			 struct dataset_progress *progress, struct dataset_facts *facts,
			 struct fault *fault)
{
	const struct row_format *format;
	struct files *files;
	if (manifest_choose_format(&format, spec, fault))
		return DATASET_E_ARGUMENT;
	int fd = manifest_open_text(spec->path, fault);
	if (fd < 0)
		return DATASET_E_OPEN;
	int result = manifest_new_files(&files, spec, fault);
	if (!result) {
		result = manifest_parse(files->index, fd, spec->path, format, progress, fault);
		if (!result)
			result = files_finish(files, spec->path, facts, fault);
		if (result)
			files_free(files);
	}
	close(fd);
	if (!result)
		*state_out = files;
	return result;
}

static const char *const manifest_keys[] = {"root", "format", NULL};

static bool manifest_suits(const char *path, bool folder)
{
	(void)path;
	return !folder;
}

const struct dataset_kind manifest_kind = {
	.name = "manifest",
	.keys = manifest_keys,
	.suits = manifest_suits,
	.clue = KIND_BY_TYPE,
	.open = manifest_open,
	.free = files_free,
	.class_name = files_class_name,
	.read_label = files_read_label,
	.path = files_path,
	.read = files_read,
	.read_mask = files_read_mask,
};
