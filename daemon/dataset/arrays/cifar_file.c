// SPDX-License-Identifier: MIT
#include "dataset/arrays/cifar_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/quote.h"

#define NAMES_MAX 1000u

static int cifar_file_check_labels(const struct cifar_file *file, const char *key,
				   struct fault *fault)
{
	if (!file->labels || file->labels->kind != PICKLE_LIST)
		return fault_say(
			fault, CIFAR_FILE_E_BAD,
			"it has no list '%s': load the files as the data set's authors give them",
			key);
	if (file->labels->list.count != file->planes.rows)
		return fault_say(fault, CIFAR_FILE_E_BAD,
				 "'%s' has %" PRIu64 " labels for %" PRIu64
				 " pictures: load the files as the data set's authors give them",
				 key, file->labels->list.count, file->planes.rows);
	for (uint64_t i = 0; i < file->labels->list.count; i++) {
		if (pickle_item(&file->pickle, file->labels, i)->kind != PICKLE_INT)
			return fault_say(fault, CIFAR_FILE_E_BAD,
					 "label %" PRIu64
					 " of '%s' is not an integer: write it as one",
					 i, key);
	}
	return 0;
}

int cifar_file_unpickle(struct cifar_file *out, const struct buffer *bytes, const char *key,
			struct fault *fault)
{
	const struct pickle_value *root = NULL;
	int result = pickle_parse(&out->pickle, bytes->data, bytes->size, &root, fault);
	if (result < 0)
		return result;
	if (result)
		return CIFAR_FILE_E_BAD;
	const struct pickle_value *data = pickle_get(&out->pickle, root, "data");
	if (!data || !pickle_matrix(&out->pickle, data, &out->planes) ||
	    out->planes.columns != CIFAR_PLANES)
		return fault_say(fault, CIFAR_FILE_E_BAD,
				 "its 'data' is not an array of uint8 with the shape (N, %d): "
				 "fetch the file again",
				 CIFAR_PLANES);
	out->labels = pickle_get(&out->pickle, root, key);
	result = cifar_file_check_labels(out, key, fault);
	if (!result)
		out->count = out->planes.rows;
	return result;
}

int cifar_file_split(struct cifar_file *out, const struct buffer *bytes,
		     const struct cifar_record *record, int coarse, struct fault *fault)
{
	size_t step = record->labels + CIFAR_PLANES;
	if (bytes->size == 0 || bytes->size % step)
		return fault_say(fault, CIFAR_FILE_E_BAD,
				 "its size of %zu bytes is not a multiple of a record's %zu bytes: "
				 "the file is cut off or belongs to another dataset",
				 bytes->size, step);
	out->count = bytes->size / step;
	out->planes = (struct pickle_matrix){
		.data = bytes->data + record->labels,
		.rows = out->count,
		.columns = CIFAR_PLANES,
		.row = step,
		.column = 1,
	};
	out->label_bytes = bytes->data + record->at[coarse];
	out->label_step = step;
	return 0;
}

void cifar_file_deinit(struct cifar_file *file)
{
	pickle_deinit(&file->pickle);
	*file = (struct cifar_file){0};
}

int64_t cifar_file_read(const struct cifar_file *file, uint64_t sample,
			uint8_t planes[CIFAR_PLANES])
{
	const struct pickle_matrix *from = &file->planes;
	for (uint64_t i = 0; i < CIFAR_PLANES; i++)
		planes[i] = from->data[sample * from->row + i * from->column];
	return file->label_bytes ? file->label_bytes[sample * file->label_step]
				 : pickle_item(&file->pickle, file->labels, sample)->whole;
}

/* -- names ----------------------------------------------------------------------------------- */

static int cifar_names_add(struct cifar_names *names, const void *data, uint64_t size,
			   struct fault *fault)
{
	if (names->count == NAMES_MAX || size > QUOTE_MAX || memchr(data, '\0', size))
		return fault_say(fault, CIFAR_FILE_E_BAD,
				 "it is not a list of class names: load the files as the data "
				 "set's authors give them");
	if (ARRAY_RESERVE(names->names, names->capacity, names->count + 1))
		return -ENOMEM;
	names->names[names->count] = strndup(data, size);
	return names->names[names->count++] ? 0 : -ENOMEM;
}

static int cifar_names_take(struct cifar_names *out, const struct pickle *pickle,
			    const struct pickle_value *list, struct fault *fault)
{
	int result = 0;
	for (uint64_t i = 0; i < list->list.count && !result; i++) {
		const struct pickle_value *name = pickle_item(pickle, list, i);
		bool text = name->kind == PICKLE_TEXT || name->kind == PICKLE_BYTES;
		result = text ? cifar_names_add(out, name->bytes.data, name->bytes.size, fault)
			      : fault_say(fault, CIFAR_FILE_E_BAD,
					  "class name %" PRIu64 " is not a text", i);
	}
	return result;
}

int cifar_names_unpickle(struct cifar_names *out, const struct buffer *bytes, const char *key,
			 struct fault *fault)
{
	struct pickle pickle;
	const struct pickle_value *root = NULL, *list;
	int result = pickle_parse(&pickle, bytes->data, bytes->size, &root, fault);
	if (result > 0) {
		result = CIFAR_FILE_E_BAD;
	} else if (!result) {
		list = pickle_get(&pickle, root, key);
		result = list && list->kind == PICKLE_LIST
				 ? cifar_names_take(out, &pickle, list, fault)
				 : fault_say(fault, CIFAR_FILE_E_BAD,
					     "it has no list '%s': load the files as the data "
					     "set's authors give them",
					     key);
	}
	pickle_deinit(&pickle);
	return result;
}

int cifar_names_split(struct cifar_names *out, const struct buffer *bytes, struct fault *fault)
{
	const char *at = (const char *)bytes->data, *end = at + bytes->size;
	int result = 0;
	while (at < end && !result) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		size_t whole = (size_t)((line ? line : end) - at), size = whole;
		while (size && (at[size - 1] == '\r' || at[size - 1] == ' '))
			size--;
		if (size)
			result = cifar_names_add(out, at, size, fault);
		at += whole + (line != NULL);
	}
	return result;
}

void cifar_names_deinit(struct cifar_names *names)
{
	for (uint64_t i = 0; i < names->count; i++)
		free(names->names[i]);
	free(names->names);
	*names = CIFAR_NAMES_NULL;
}
