// SPDX-License-Identifier: MIT
#include "dataset/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "dataset/folder_watch.h"

int files_new(struct files **out, const struct storage_place *root, const char *kind,
	      struct fault *fault)
{
	struct files *files = malloc(sizeof(*files));
	if (!files)
		return -ENOMEM;
	*files = (struct files){.folder = STORAGE_FOLDER_NULL};
	int result = storage_open(&files->folder, root, fault);
	if (result) {
		files_free(files);
		return result < 0 ? result : DATASET_E_OPEN;
	}
	if (index_new(&files->index, kind)) {
		files_free(files);
		return -ENOMEM;
	}
	*out = files;
	return 0;
}

static struct dataset_label files_label(const struct index *index)
{
	const struct labels *labels = index_labels(index);
	if (!labels)
		return (struct dataset_label){.dtype = "int64", .count = 1, .bytes = 8};
	return (struct dataset_label){
		.dtype = labels->real ? "float32" : "int64",
		.dims = labels->count > 1 ? 1 : 0,
		.count = labels->count,
		.bytes = labels_row_bytes(labels),
	};
}

int files_finish(struct files *files, const char *from, struct dataset_facts *facts,
		 struct fault *fault)
{
	struct quote quote;
	struct index *index = files->index;
	if (index_count(index) == 0)
		return fault_say(fault, DATASET_E_OPEN,
				 "%s has no samples: name at least one in it",
				 quote_text(&quote, from));
	int result = index_finish(index);
	if (result)
		return result;
	facts->count = index_count(index);
	facts->class_count = index_class_count(index);
	facts->unsized = !index_is_sized(index);
	facts->fingerprint = facts->unsized ? index_names(index) : index_fingerprint(index);
	facts->label = files_label(index);
	facts->columns = index_columns(index);
	facts->index_bytes = index_bytes(index);
	return 0;
}

void files_rest(void *state)
{
	struct files *files = state;
	storage_close(&files->folder);
}

int files_wake(void *state, const struct storage_place *root, struct fault *fault)
{
	struct files *files = state;
	int result = storage_open(&files->folder, root, fault);
	return result > 0 ? DATASET_E_OPEN : result;
}

void files_free(void *state)
{
	struct files *files = state;
	if (!files)
		return;
	storage_close(&files->folder);
	index_free(files->index);
	free(files);
}

const char *files_class_name(const void *state, uint64_t label)
{
	const struct files *files = state;
	return index_class_name(files->index, (uint32_t)label);
}

void files_read_label(const void *state, uint64_t sample, void *out)
{
	const struct files *files = state;
	const struct labels *labels = index_labels(files->index);
	if (labels) {
		labels_read(labels, sample, out);
		return;
	}
	int64_t class = index_class(files->index, sample);
	memcpy(out, &class, sizeof(class));
}

size_t files_path(const void *state, uint64_t sample, char *out, size_t size)
{
	const struct files *files = state;
	return index_path(files->index, sample, out, size);
}

static int files_read_path(const struct files *files, const char *path, struct storage_range range,
			   size_t max_bytes, struct buffer *buffer,
			   struct storage_version *version_out, struct fault *fault)
{
	const struct storage_folder *folder = &files->folder;
	int result = folder->storage->read_range(folder->state, path, range, max_bytes, buffer,
						 version_out, fault);
	switch (result) {
	case STORAGE_E_LIMIT:
		return DATASET_E_LIMIT;
	case STORAGE_E_CHANGED:
		return DATASET_E_CHANGED;
	default:
		return result > 0 ? DATASET_E_READ : result;
	}
}

/* Is this the file that the index saw, or that was there when it was made? */
static bool files_saw(const struct files *files, uint64_t sample,
		      const struct storage_version *version)
{
	uint32_t seen = index_glance(files->index, sample),
		 glance = storage_version_glance(version);
	if (seen || !files->since_ns)
		return seen == 0 || seen == glance;
	return !storage_version_is_later(version, files->since_ns) &&
	       index_see(files->index, sample, glance);
}

static int files_read_range(const struct files *files, uint64_t sample, struct storage_range range,
			    size_t max_bytes, struct buffer *buffer,
			    struct storage_version *version_out, struct fault *fault)
{
	struct storage_version version;
	struct quote quote;
	char path[INDEX_PATH_MAX];
	index_path(files->index, sample, path, sizeof(path));
	int result = files_read_path(files, path, range, max_bytes, buffer, &version, fault);
	if (!result && !files_saw(files, sample, &version))
		return fault_say(
			fault, DATASET_E_CHANGED,
			"%s is not the file that was there when the dataset was opened: "
			"the dataset changed under the stream; attach again when it changes "
			"no more",
			quote_text(&quote, path));
	if (!result)
		*version_out = version;
	return result;
}

int files_read(const void *state, uint64_t sample, size_t max_bytes, struct buffer *buffer,
	       struct storage_version *version_out, struct fault *fault)
{
	return files_read_range(state, sample, STORAGE_WHOLE, max_bytes, buffer, version_out,
				fault);
}

int files_read_head(const void *state, uint64_t sample, size_t max_bytes, struct buffer *buffer,
		    struct storage_version *version_out, struct fault *fault)
{
	(void)max_bytes;
	return files_read_range(state, sample, STORAGE_HEAD, STORAGE_HEAD_BYTES, buffer,
				version_out, fault);
}

int files_version(const void *state, uint64_t sample, struct storage_version *out)
{
	const struct files *files = state;
	char path[INDEX_PATH_MAX];
	struct fault unused;
	index_path(files->index, sample, path, sizeof(path));
	int result = files->folder.storage->version(files->folder.state, path, out, &unused);
	if (result)
		return result < 0 ? result : DATASET_E_READ;
	return files_saw(files, sample, out) ? 0 : DATASET_E_CHANGED;
}

void files_watch(const void *state, struct folder_watch *watch)
{
	const struct files *files = state;
	char before[INDEX_PATH_MAX] = "", path[INDEX_PATH_MAX];
	folder_watch_add(watch, &files->folder, "");
	for (uint64_t i = 0; i < index_count(files->index); i++) {
		index_path(files->index, i, path, sizeof(path));
		for (char *end = strchr(path, '/'); end; end = strchr(end + 1, '/')) {
			if (strncmp(path, before, (size_t)(end - path) + 1) == 0)
				continue;
			*end = '\0';
			folder_watch_add(watch, &files->folder, path);
			*end = '/';
		}
		strcpy(before, path);
	}
}

int files_read_mask(const void *state, const char *path, size_t size, size_t max_bytes,
		    struct buffer *buffer, struct storage_version *version_out, struct fault *fault)
{
	char terminated[INDEX_PATH_MAX]; /* manifest.c refuses longer paths */
	snprintf(terminated, sizeof(terminated), "%.*s", (int)size, path);
	return files_read_path(state, terminated, STORAGE_WHOLE, max_bytes, buffer, version_out,
			       fault);
}
