// SPDX-License-Identifier: MIT
#include "dataset/manifest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/line.h"
#include "base/quote.h"
#include "base/url.h"
#include "dataset/arrays/bundle.h"
#include "dataset/ending.h"
#include "dataset/files.h"
#include "dataset/json.h"
#include "dataset/sources.h"

/* NULL, or what is wrong with a path. Links are checked when the file is read. */
static const char *manifest_check_path(const char *path, size_t size)
{
	if (size == 0)
		return "the path is empty: name a file, or leave the row out";
	if (size >= INDEX_PATH_MAX)
		return "the path is longer than 4095 bytes: shorten it";
	if (path[0] == '/')
		return "the path is absolute, and not below the dataset's root (root tells where "
		       "that is)";
	if (path[size - 1] == '/')
		return "the path is a folder, because it ends in a slash: name a file";
	long depth = 0;
	for (size_t at = 0; at < size;) {
		size_t end = at;
		while (end < size && path[end] != '/')
			end++;
		size_t part = end - at;
		if (part > 255)
			return "a name in the path is longer than 255 bytes: shorten it";
		if (part == 2 && memcmp(path + at, "..", 2) == 0)
			depth--;
		else if (part > 0 && !(part == 1 && path[at] == '.'))
			depth++;
		if (depth < 0)
			return "the path leads out of the dataset's root: give a root above it";
		at = end + 1;
	}
	return NULL;
}

/* Make an absolute path below `root`, which is tidy, relative to it. */
static void manifest_strip(const char *root, const char **path, size_t *size)
{
	size_t root_size = strlen(root), at = strcmp(root, "/") == 0 ? 0 : root_size;
	if (*size <= at || memcmp(*path, root, at) != 0 || (*path)[at] != '/')
		return;
	while (at < *size && (*path)[at] == '/')
		at++;
	*path += at;
	*size -= at;
}

/* Add the row's sample. Conditions of labels_add() and index_add(). */
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

/* Make a row's path relative to the root. NULL, or what is wrong with it. */
static const char *manifest_take_path(const char *root, const char **path, size_t *size)
{
	const char *before = *path;
	enum url_scheme scheme = url_scheme(root);
	manifest_strip(root, path, size);
	if (*path != before && (scheme == URL_HTTP || scheme == URL_HTTPS) &&
	    memchr(*path, '%', *size))
		return "the path is a URL with a %: write it relative to the dataset's root, where "
		       "a % stands for itself";
	return manifest_check_path(*path, *size);
}

static int manifest_check_paths(struct row *row, const char *root, struct fault *fault)
{
	struct quote quote;
	const char *wrong = manifest_take_path(root, &row->path, &row->path_size);
	if (wrong)
		return fault_say(fault, ROW_E_BAD, "%s: '%s'", wrong,
				 quote_bytes(&quote, row->path, row->path_size));
	for (uint32_t i = 0; i < row->cell_count; i++) {
		struct cell *cell = &row->cells[i];
		if (cell->kind != COLUMN_MASK)
			continue;
		wrong = manifest_take_path(root, &cell->text, &cell->text_size);
		if (wrong)
			return fault_say(fault, ROW_E_BAD, "mask: %s: '%s'", wrong,
					 quote_bytes(&quote, cell->text, cell->text_size));
	}
	return 0;
}

/* 0, ROW_E_BAD or -ENOMEM. */
static int manifest_add(struct index *index, struct row *row, const char *root, struct fault *fault)
{
	int result = manifest_check_paths(row, root, fault);
	if (result)
		return result;
	result = manifest_add_sample(index, row);
	if (result == INDEX_E_FULL)
		return fault_say(fault, ROW_E_BAD,
				 "more samples or folders than an index can hold (%" PRIu64 ", %u)",
				 INDEX_SAMPLES_MAX, INDEX_DIRECTORIES_MAX);
	if (!result)
		result = row->class ? index_add_class_label(index, row->class, row->class_size)
				    : index_add_labels(index, row->labels, row->count);
	if (result == LABELS_E_ROUNDED)
		return fault_say(fault, ROW_E_BAD, "label: " LABELS_ROUNDED);
	if (result == LABELS_E_COUNT)
		return fault_say(fault, ROW_E_BAD,
				 "the row has %u labels and the first row %u: give all as many",
				 row->count, index_labels(index)->count);
	if (!result)
		result = index_add_cells(index, row->cells, row->cell_count, fault);
	return result == COLUMN_E_BAD ? ROW_E_BAD : result;
}

static int manifest_parse_rows(struct index *index, struct line_reader *lines,
			       const struct manifest *manifest, struct row *row,
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
			result = fault_say(&why, ROW_E_BAD, "%s", line_words(lines, result));
		else if (!line)
			return 0;
		else
			result = manifest->format->parse(row, line, size, &why);
		if (!result)
			result = manifest_add(index, row, manifest->root, &why);
		if (result < 0)
			return result;
		if (result == ROW_E_BAD)
			return fault_say(fault, DATASET_E_OPEN, "%s:%" PRIu64 ": %s",
					 quote_text(&quote, manifest->name), lines->line, why.text);
		if (result == 0)
			atomic_fetch_add_explicit(&progress->found, 1, memory_order_relaxed);
		result = dataset_progress_grown(progress, index_bytes(index), fault);
		if (result)
			return result;
	}
}

/* Keys of a jsonl manifest that nobody looks at: said once, because one may be misspelt. */
static void manifest_note_unused(const struct row *row, struct fault *note)
{
	char list[512] = "";
	if (row->unused_count == 0)
		return;
	for (unsigned i = 0; i < row->unused_count; i++) {
		size_t size = strlen(list);
		snprintf(list + size, sizeof(list) - size, "%s'%s'", size ? ", " : "",
			 row->unused[i].text);
	}
	fault_say(note, 0, "these keys of the manifest's rows are not used: %s%s", list,
		  row->unused_count == ROW_UNUSED_MAX ? ", ..." : "");
}

int manifest_parse(struct index *index, int fd, const struct manifest *manifest,
		   struct dataset_progress *progress, struct fault *note, struct fault *fault)
{
	struct line_reader lines;
	struct row *row = calloc(1, sizeof(*row));
	int result = line_reader_init(&lines, fd, manifest->format->quotes,
				      manifest->format->line_max ? manifest->format->line_max
								 : LINE_MAX_BYTES);
	if (!row)
		result = -ENOMEM;
	if (!result) {
		row->path_name = manifest->path_column;
		row->label_name = manifest->label_column;
		result = manifest_parse_rows(index, &lines, manifest, row, progress, fault);
	}
	line_reader_deinit(&lines);
	if (row) {
		manifest_note_unused(row, note);
		json_row_release(row);
	}
	free(row);
	return result;
}

static int manifest_choose_format(const struct row_format **out, const struct dataset_spec *spec,
				  struct fault *fault)
{
	struct quote quote;
	const struct row_format *format =
		spec->format ? row_format_named(spec->format) : row_format_of(spec->path);
	if (format && !format->named && (spec->path_column || spec->label_column))
		return fault_say(
			fault, DATASET_E_ARGUMENT,
			"dataset: path_column and label_column are for tsv, csv and jsonl, "
			"whose columns have names; %s is of the format %s",
			quote_text(&quote, spec->path), format->name);
	*out = format;
	if (format)
		return 0;
	if (bundle_is_archive(spec->path))
		return fault_say(
			fault, DATASET_E_ARGUMENT,
			"the archive %s cannot be read, or has no files of CIFAR-10, CIFAR-100 or "
			"MNIST: unpack other archives (tar shards: give kind = tar); for the "
			"reason give kind = cifar10, cifar100 or mnist",
			quote_text(&quote, spec->path));
	if (ending_source(spec->path))
		return fault_say(fault, DATASET_E_ARGUMENT,
				 "%s is not read by the daemon: the Python client reads it, as "
				 "stoker.sources.%s; for other clients write tar shards of it "
				 "(stoker.write_shards)",
				 quote_text(&quote, spec->path), ending_source(spec->path));
	return fault_say(fault, DATASET_E_ARGUMENT,
			 "%s is neither a folder nor named like a manifest (.txt .tsv .csv "
			 ".jsonl): name a folder, or give format = lines, tsv, csv or jsonl",
			 quote_text(&quote, spec->path));
}

/* A descriptor of the manifest, or -1 with the words in `fault`. */
static int manifest_open_text(const struct dataset_spec *spec, struct sources *sources,
			      struct fault *fault)
{
	const struct storage_place place = dataset_place(spec, spec->path);
	struct quote quote;
	struct fault why;
	struct storage_version version;
	int fd = -1;
	if (storage_open_file(&place, &fd, &version, &why))
		fault_say(fault, DATASET_E_OPEN, "cannot read the manifest %s: %s",
			  quote_text(&quote, spec->path), why.text);
	else
		sources_add(sources, SOURCE_FILE, spec->path, &version);
	return fd;
}

/* The folder that relative paths begin at, the caller's; NULL: no memory. */
static char *manifest_root(const struct dataset_spec *spec)
{
	if (spec->root)
		return strdup(spec->root);
	const char *slash = strrchr(spec->path, '/'); /* there is one: the path is absolute */
	return strndup(spec->path, slash == spec->path ? 1 : (size_t)(slash - spec->path));
}

/* Pictures that no codec decodes: all of them are samples. */
static void manifest_note_endings(const struct index *index, struct fault *note)
{
	struct endings endings = {0};
	char path[INDEX_PATH_MAX];
	for (uint64_t i = 0; i < index_count(index); i++) {
		index_path(index, i, path, sizeof(path));
		endings_see(&endings, path);
	}
	endings_say(&endings, true, note);
}

static struct storage_place manifest_place(const struct dataset_spec *spec, const char *path)
{
	struct storage_place place = dataset_place(spec, path);
	place.names = true;
	return place;
}

/* Read the rows of `fd` into the index of new `files`. */
static int manifest_fill(struct files **out, int fd, const struct dataset_spec *spec,
			 const struct manifest *manifest, struct dataset_progress *progress,
			 struct dataset_facts *facts, struct fault *fault)
{
	struct files *files;
	const struct storage_place root = manifest_place(spec, manifest->root);
	int result = files_new(&files, &root, "manifest", fault);
	if (result)
		return result;
	sources_add_folder(progress->sources, SOURCE_ROOT, manifest->root, &files->folder, "");
	result = manifest_parse(files->index, fd, manifest, progress, &facts->note, fault);
	if (!result)
		result = files_finish(files, spec->path, facts, fault);
	if (result) {
		files_free(files);
		return result;
	}
	manifest_note_endings(files->index, &facts->note);
	*out = files;
	return 0;
}

static int manifest_open(void **state_out, const struct dataset_spec *spec,
			 struct dataset_progress *progress, struct dataset_facts *facts,
			 struct fault *fault)
{
	struct manifest manifest = {.name = spec->path,
				    .path_column = spec->path_column,
				    .label_column = spec->label_column};
	struct files *files;
	if (manifest_choose_format(&manifest.format, spec, fault))
		return DATASET_E_ARGUMENT;
	int fd = manifest_open_text(spec, progress->sources, fault);
	if (fd < 0)
		return DATASET_E_OPEN;
	char *root = manifest_root(spec);
	manifest.root = root;
	int result =
		root ? manifest_fill(&files, fd, spec, &manifest, progress, facts, fault) : -ENOMEM;
	free(root);
	close(fd);
	if (!result)
		*state_out = files;
	return result;
}

/* Nothing is seen of its files but by who reads them. */
static int manifest_wake(void *state, const struct dataset_spec *spec, bool forget,
			 struct fault *fault)
{
	(void)forget;
	char *path = manifest_root(spec);
	if (!path)
		return -ENOMEM;
	const struct storage_place root = manifest_place(spec, path);
	int result = files_wake(state, &root, fault);
	free(path);
	return result;
}

static bool manifest_suits(const struct dataset_spec *spec, bool folder)
{
	(void)spec;
	return !folder;
}

const struct dataset_kind manifest_kind = {
	.name = "manifest",
	.suits = manifest_suits,
	.clue = KIND_BY_TYPE,
	.open = manifest_open,
	.rest = files_rest,
	.wake = manifest_wake,
	.free = files_free,
	.class_name = files_class_name,
	.read_label = files_read_label,
	.path = files_path,
	.read = files_read,
	.read_head = files_read_head,
	.head_version = files_version,
	.version = files_version,
	.watch = files_watch,
	.read_mask = files_read_mask,
};
