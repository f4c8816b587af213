// SPDX-License-Identifier: MIT
#include "dataset/dataset.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "dataset/joined.h"
#include "dataset/kind.h"
#include "dataset/storage/storage.h"

#define KINDS_MAX 64 /* that a message can name */

static const struct spec_key {
	const char *name;
	size_t offset;
} spec_keys[] = {
	{"path", offsetof(struct dataset_spec, path)},
	{"kind", offsetof(struct dataset_spec, kind)},
	{"root", offsetof(struct dataset_spec, root)},
	{"format", offsetof(struct dataset_spec, format)},
	{"images", offsetof(struct dataset_spec, images)},
	{"labels", offsetof(struct dataset_spec, labels)},
	{"split", offsetof(struct dataset_spec, split)},
	{NULL, 0},
};
#define SPEC_KEYS (sizeof(spec_keys) / sizeof(spec_keys[0]) - 1)

static char **spec_member(struct dataset_spec *spec, const struct spec_key *key)
{
	return (char **)((uintptr_t)spec + key->offset);
}

static const char *spec_text(const struct dataset_spec *spec, const struct spec_key *key)
{
	return *(char *const *)((uintptr_t)spec + key->offset);
}

struct dataset {
	const struct dataset_kind *kind;
	void *state;
	struct dataset_facts facts;
	/* A hash of each file's stamp when it was first read; 0: not read yet. calloc() takes
	 * memory from the system only for pages that are written. */
	_Atomic uint64_t *stamps;
	const struct column *mask;     /* NULL: there is none */
	_Atomic uint64_t *mask_stamps; /* the same for the masks' files */
};

#define LIST_BYTES 128 /* of names in a message; further ones are cut off */

static void list_add(char list[LIST_BYTES], const char *name)
{
	size_t size = strlen(list);
	snprintf(list + size, LIST_BYTES - size, "%s%s", size ? ", " : "", name);
}

/* A key that the kind does not take is an error; it is not ignored. */
static int dataset_check_spec(const struct dataset_spec *spec, const struct dataset_kind *kind,
			      struct fault *fault)
{
	for (const struct spec_key *key = spec_keys; key->name; key++) {
		if (!spec_text(spec, key) || strcmp(key->name, "path") == 0 ||
		    strcmp(key->name, "kind") == 0 || kind_takes(kind, key->name))
			continue;
		char list[LIST_BYTES] = "path";
		for (const char *const *taken = kind->keys; *taken; taken++)
			list_add(list, *taken);
		return fault_say(fault, DATASET_E_ARGUMENT,
				 "dataset: the key '%s' is not for the kind '%s', which takes %s",
				 key->name, kind->name, list);
	}
	return 0;
}

static int dataset_choose_kind(const struct dataset_kind **out, const struct dataset_spec *spec,
			       struct fault *fault)
{
	struct quote quote;
	bool folder;
	if (spec->parts) {
		*out = &joined_kind;
		return 0;
	}
	if (spec->kind) {
		*out = kind_named(spec->kind);
		assert(*out); /* dataset_spec_parse() checked it */
		return 0;
	}
	int error = storage_look(spec->path, &folder);
	if (error)
		return fault_say(fault, DATASET_E_OPEN, "cannot open the dataset %s: %s%s",
				 quote_text(&quote, spec->path), strerror(-error),
				 error == -EACCES ? " to the daemon's user" : "");
	*out = kind_of_path(spec->path, folder);
	return dataset_check_spec(spec, *out, fault);
}

static int dataset_make_stamps(struct dataset *dataset)
{
	const struct columns *columns = dataset_columns(dataset);
	for (unsigned i = 0; i < columns->count; i++) {
		if (columns->column[i].kind == COLUMN_MASK)
			dataset->mask = &columns->column[i];
	}
	dataset->stamps = calloc(dataset->facts.count, sizeof(*dataset->stamps));
	if (dataset->mask)
		dataset->mask_stamps = calloc(dataset->facts.count, sizeof(*dataset->mask_stamps));
	return dataset->stamps && (!dataset->mask || dataset->mask_stamps) ? 0 : -ENOMEM;
}

int dataset_open(struct dataset **out, const struct dataset_spec *spec,
		 struct dataset_progress *progress, struct fault *fault)
{
	const struct dataset_kind *kind = NULL;
	int result = dataset_choose_kind(&kind, spec, fault);
	if (result)
		return result;
	struct dataset *dataset = calloc(1, sizeof(*dataset));
	if (!dataset)
		return -ENOMEM;
	dataset->kind = kind;
	result = kind->open(&dataset->state, spec, progress, &dataset->facts, fault);
	if (!result && kind->read && !dataset->facts.parts)
		result = dataset_make_stamps(dataset);
	if (result) {
		dataset_free(dataset);
		return result < 0 ? fault_say(fault, result, "out of memory for the index")
				  : result;
	}
	*out = dataset;
	return 0;
}

void dataset_free(struct dataset *dataset)
{
	if (!dataset)
		return;
	dataset->kind->free(dataset->state);
	free(dataset->stamps);
	free(dataset->mask_stamps);
	free(dataset);
}

uint64_t dataset_count(const struct dataset *dataset)
{
	return dataset->facts.count;
}

uint64_t dataset_skipped(const struct dataset *dataset)
{
	return dataset->facts.skipped;
}

uint32_t dataset_part_count(const struct dataset *dataset)
{
	return dataset->facts.parts;
}

const struct dataset *dataset_part(const struct dataset *dataset, uint32_t part)
{
	assert(part < dataset->facts.parts);
	return dataset->facts.part[part];
}

uint64_t dataset_part_first(const struct dataset *dataset, uint32_t part)
{
	assert(part <= dataset->facts.parts);
	return dataset->facts.part_first[part];
}

const char *dataset_kind_name(const struct dataset *dataset)
{
	return dataset->kind->name;
}

struct digest dataset_fingerprint(const struct dataset *dataset)
{
	return dataset->facts.fingerprint;
}

size_t dataset_index_bytes(const struct dataset *dataset)
{
	return dataset->facts.index_bytes;
}

uint64_t dataset_class_count(const struct dataset *dataset)
{
	return dataset->facts.class_count;
}

const char *dataset_class_name(const struct dataset *dataset, uint64_t label)
{
	assert(label < dataset->facts.class_count);
	return dataset->kind->class_name(dataset->state, label);
}

struct dataset_label dataset_label(const struct dataset *dataset)
{
	return dataset->facts.label;
}

void dataset_read_label(const struct dataset *dataset, uint64_t sample, void *out)
{
	assert(sample < dataset->facts.count);
	dataset->kind->read_label(dataset->state, sample, out);
}

const struct columns *dataset_columns(const struct dataset *dataset)
{
	static const struct columns none;
	return dataset->facts.columns ? dataset->facts.columns : &none;
}

size_t dataset_path(const struct dataset *dataset, uint64_t sample, char *out, size_t size)
{
	assert(sample < dataset->facts.count);
	return dataset->kind->path(dataset->state, sample, out, size);
}

bool dataset_has_pixels(const struct dataset *dataset)
{
	return dataset->kind->pixels && !dataset->facts.files;
}

struct image dataset_pixels(const struct dataset *dataset, uint64_t sample)
{
	assert(sample < dataset->facts.count);
	return dataset->kind->pixels(dataset->state, sample);
}

/* Is this the stamp that the file had when it was first read? */
static bool dataset_same_file(_Atomic uint64_t *first, const struct stamp *stamp)
{
	uint64_t mark = stamp_mark(stamp), none = 0;
	return atomic_compare_exchange_strong(first, &none, mark) || none == mark;
}

static int dataset_say_changed(const char *path, struct fault *fault)
{
	struct quote quote;
	return fault_say(fault, DATASET_E_CHANGED,
			 "%s is not the file that was read before: the dataset changed under the "
			 "stream; attach again when it changes no more",
			 quote_text(&quote, path));
}

int dataset_read(const struct dataset *dataset, uint64_t sample, size_t max_bytes,
		 struct buffer *buffer, struct stamp *stamp_out, struct fault *fault)
{
	struct stamp stamp;
	assert(sample < dataset->facts.count);
	int result = dataset->kind->read(dataset->state, sample, max_bytes, buffer, &stamp, fault);
	if (result)
		return result;
	if (dataset->stamps && !dataset_same_file(&dataset->stamps[sample], &stamp)) {
		char path[256];
		dataset_path(dataset, sample, path, sizeof(path));
		return dataset_say_changed(path, fault);
	}
	if (stamp_out)
		*stamp_out = stamp;
	return 0;
}

int dataset_read_mask(const struct dataset *dataset, uint64_t sample, size_t max_bytes,
		      struct buffer *buffer, struct fault *fault)
{
	struct stamp stamp;
	size_t size;
	assert(sample < dataset->facts.count && dataset->mask);
	const char *path = column_path(dataset->mask, sample, &size);
	int result = dataset->kind->read_mask(dataset->state, path, size, max_bytes, buffer, &stamp,
					      fault);
	if (result || dataset_same_file(&dataset->mask_stamps[sample], &stamp))
		return result;
	char name[256];
	snprintf(name, sizeof(name), "%.*s", (int)size, path);
	return dataset_say_changed(name, fault);
}

/*
 * Descriptions. Parsing looks at no file, because it runs on the loop thread and storage is slow.
 */

static int dataset_take_text(char **out, const char *key, const struct value *value,
			     struct fault *fault)
{
	if (value->kind == VALUE_NIL)
		return 0;
	if (value->kind != VALUE_TEXT)
		return fault_say(fault, DATASET_E_ARGUMENT,
				 "dataset: '%s' must be a text, not a %s", key,
				 value_kind_name(value->kind));
	struct text text = value->text;
	if (text.size == 0 || text.size >= PATH_MAX || memchr(text.data, '\0', text.size))
		return fault_say(
			fault, DATASET_E_ARGUMENT,
			"dataset: '%s' is empty, has a NUL byte or is longer than %d bytes", key,
			PATH_MAX - 1);
	*out = strndup(text.data, text.size);
	return *out ? 0 : -ENOMEM;
}

static int dataset_take_pair(struct dataset_spec *spec, const struct pair *pair,
			     struct fault *fault)
{
	const char *names[SPEC_KEYS + 2] = {[SPEC_KEYS] = "parts"};
	char list[LIST_BYTES] = "";
	struct quote quote;
	if (text_equals(pair->key, "parts"))
		return joined_spec_parse(spec, &pair->value, fault);
	for (size_t i = 0; i < SPEC_KEYS; i++) {
		if (text_equals(pair->key, spec_keys[i].name))
			return dataset_take_text(spec_member(spec, &spec_keys[i]),
						 spec_keys[i].name, &pair->value, fault);
		names[i] = spec_keys[i].name;
		list_add(list, names[i]);
	}
	const char *nearest = quote_nearest(pair->key.data, pair->key.size, names);
	return fault_say(fault, DATASET_E_ARGUMENT, "dataset: unknown key '%s'%s%s%s",
			 quote_bytes(&quote, pair->key.data, pair->key.size),
			 nearest ? "; did you mean '" : ": it takes ", nearest ? nearest : list,
			 nearest ? "'?" : ", parts");
}

static int dataset_check_choice(const char *key, const char *value, const char *const *choices,
				struct fault *fault)
{
	struct quote quote;
	if (!value)
		return 0;
	char list[LIST_BYTES] = "";
	for (const char *const *choice = choices; *choice; choice++) {
		if (strcmp(value, *choice) == 0)
			return 0;
		list_add(list, *choice);
	}
	const char *nearest = quote_nearest(value, strlen(value), choices);
	return fault_say(fault, DATASET_E_ARGUMENT, "dataset: no %s '%s'%s%s%s", key,
			 quote_text(&quote, value),
			 nearest ? "; did you mean '" : ": it is one of ", nearest ? nearest : list,
			 nearest ? "'?" : "");
}

static int dataset_check_path(const char *key, char *path, struct fault *fault)
{
	struct quote quote;
	if (!path)
		return 0;
	const struct storage *storage = storage_of(path);
	if (!storage)
		return fault_say(fault, DATASET_E_ARGUMENT,
				 "dataset: '%s' must be absolute, because the daemon has another "
				 "working directory: '%s'",
				 key, quote_text(&quote, path));
	storage->tidy(path);
	return 0;
}

static int dataset_check_values(struct dataset_spec *spec, struct fault *fault)
{
	const char *names[KINDS_MAX + 1] = {NULL};
	size_t count = 0;
	static const char *const formats[] = {"lines", "tsv", "csv", "jsonl", NULL};
	static const char *const splits[] = {"train", "test", NULL};
	if (spec->parts)
		return joined_spec_name(spec, fault);
	if (!spec->path)
		return fault_say(fault, DATASET_E_ARGUMENT, "dataset: 'path' is missing");
	for (size_t i = 0; dataset_kinds[i] && count < KINDS_MAX; i++) {
		if (dataset_kinds[i]->keys)
			names[count++] = dataset_kinds[i]->name;
	}
	int result = dataset_check_path("path", spec->path, fault);
	if (!result)
		result = dataset_check_path("root", spec->root, fault);
	if (!result)
		result = dataset_check_choice("kind", spec->kind, names, fault);
	if (!result)
		result = dataset_check_choice("format", spec->format, formats, fault);
	if (!result)
		result = dataset_check_choice("split", spec->split, splits, fault);
	if (!result && spec->kind)
		result = dataset_check_spec(spec, kind_named(spec->kind), fault);
	return result;
}

int dataset_spec_parse(struct dataset_spec *out, const struct value *map, struct fault *fault)
{
	struct dataset_spec spec = DATASET_SPEC_NULL;
	int result = 0;
	if (!map || map->kind != VALUE_MAP)
		return fault_say(fault, DATASET_E_ARGUMENT,
				 "dataset must be a map with a 'path', not a %s",
				 value_kind_name(map ? map->kind : VALUE_NIL));
	for (uint32_t i = 0; i < map->count && !result; i++)
		result = dataset_take_pair(&spec, &map->pairs[i], fault);
	if (!result)
		result = dataset_check_values(&spec, fault);
	if (result) {
		dataset_spec_deinit(&spec);
		return result;
	}
	*out = spec;
	return 0;
}

void dataset_spec_deinit(struct dataset_spec *spec)
{
	for (size_t i = 0; i < SPEC_KEYS; i++)
		free(*spec_member(spec, &spec_keys[i]));
	joined_spec_deinit(spec);
	*spec = DATASET_SPEC_NULL;
}

static bool dataset_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

bool dataset_spec_equal(const struct dataset_spec *a, const struct dataset_spec *b)
{
	for (size_t i = 0; i < SPEC_KEYS; i++) {
		if (!dataset_same(spec_text(a, &spec_keys[i]), spec_text(b, &spec_keys[i])))
			return false;
	}
	return joined_spec_equal(a, b);
}
