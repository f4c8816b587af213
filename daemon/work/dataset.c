// SPDX-License-Identifier: MIT
#include "work/dataset.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "work/folder.h"
#include "work/kind.h"
#include "work/manifest.h"
#include "work/quote.h"

static const struct dataset_kind *const kinds[] = {&folder_kind, &manifest_kind};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct dataset {
	const struct dataset_kind *kind;
	void *state;
	struct dataset_facts facts;
	/* What the stamp of each file was when it was first read; 0: not yet. Pages of it are had
	 * from the system when they are first written. */
	_Atomic uint64_t *stamps;
};

static const struct dataset_kind *dataset_find_kind(const char *name)
{
	for (size_t i = 0; i < KINDS; i++) {
		if (strcmp(kinds[i]->name, name) == 0)
			return kinds[i];
	}
	return NULL;
}

/* What the description says and the kind does not take is an error, not ignored. */
static int dataset_check_spec(const struct dataset_spec *spec, const struct dataset_kind *kind,
			      struct fault *fault)
{
	const char *extra = spec->root ? "root" : spec->format ? "format" : NULL;
	if (kind == &folder_kind && extra)
		return fault_say(fault, DATASET_E_ARGUMENT,
				 "dataset: '%s' is for a manifest; the path of an image folder is "
				 "all it takes",
				 extra);
	return 0;
}

static int dataset_choose_kind(const struct dataset_kind **out, const struct dataset_spec *spec,
			       struct fault *fault)
{
	struct quote quote;
	struct stat stat_;
	if (spec->kind) {
		*out = dataset_find_kind(spec->kind);
		assert(*out); /* dataset_spec_parse() let it pass */
		return 0;
	}
	if (stat(spec->path, &stat_))
		return fault_say(fault, DATASET_E_OPEN, "cannot open the dataset %s: %s",
				 quote_text(&quote, spec->path), strerror(errno));
	*out = S_ISDIR(stat_.st_mode) ? &folder_kind : &manifest_kind;
	return dataset_check_spec(spec, *out, fault);
}

int dataset_open(struct dataset **out, const struct dataset_spec *spec,
		 struct dataset_progress *progress, struct fault *fault)
{
	const struct dataset_kind *kind;
	int result = dataset_choose_kind(&kind, spec, fault);
	if (result)
		return result;
	struct dataset *dataset = calloc(1, sizeof(*dataset));
	if (!dataset)
		return -ENOMEM;
	dataset->kind = kind;
	result = kind->open(&dataset->state, spec, progress, &dataset->facts, fault);
	if (!result) {
		dataset->stamps = calloc(dataset->facts.count, sizeof(*dataset->stamps));
		result = dataset->stamps ? 0 : -ENOMEM;
	}
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

size_t dataset_path(const struct dataset *dataset, uint64_t sample, char *out, size_t size)
{
	assert(sample < dataset->facts.count);
	return dataset->kind->path(dataset->state, sample, out, size);
}

/* Is this the stamp that the sample's file had when it was first read? */
static bool dataset_same_file(const struct dataset *dataset, uint64_t sample,
			      const struct stamp *stamp)
{
	uint64_t mark = stamp_mark(stamp), first = 0;
	return atomic_compare_exchange_strong(&dataset->stamps[sample], &first, mark) ||
	       first == mark;
}

int dataset_read(const struct dataset *dataset, uint64_t sample, size_t max_bytes,
		 struct buffer *buffer, struct stamp *stamp_out, struct fault *fault)
{
	struct stamp stamp;
	assert(sample < dataset->facts.count);
	int result = dataset->kind->read(dataset->state, sample, max_bytes, buffer, &stamp, fault);
	if (result)
		return result;
	if (!dataset_same_file(dataset, sample, &stamp)) {
		char path[256];
		struct quote quote;
		dataset_path(dataset, sample, path, sizeof(path));
		return fault_say(fault, DATASET_E_CHANGED,
				 "%s is not the file that was read before: the dataset changed "
				 "under the stream; attach again once it stands still",
				 quote_text(&quote, path));
	}
	if (stamp_out)
		*stamp_out = stamp;
	return 0;
}

/*
 * Descriptions. Parsing looks at no file: it may run on the loop thread, and storage may be slow.
 */

/* "a//b/./c/" as "/a/b/c", in place; ".." stays, for a link may stand before it. */
static void dataset_tidy_path(char *path)
{
	char *to = path;
	for (const char *from = path; *from;) {
		size_t part = strcspn(from + 1, "/");
		if (part > 0 && !(part == 1 && from[1] == '.')) {
			memmove(to, from, part + 1);
			to += part + 1;
		}
		from += part + 1;
	}
	if (to == path)
		*to++ = '/';
	*to = '\0';
}

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
	static const char *const keys[] = {"path", "kind", "root", "format", NULL};
	char **const members[] = {&spec->path, &spec->kind, &spec->root, &spec->format};
	struct quote quote;
	for (size_t i = 0; keys[i]; i++) {
		if (text_equals(pair->key, keys[i]))
			return dataset_take_text(members[i], keys[i], &pair->value, fault);
	}
	const char *nearest = quote_nearest(pair->key.data, pair->key.size, keys);
	return fault_say(fault, DATASET_E_ARGUMENT, "dataset: unknown key '%s'%s%s%s",
			 quote_bytes(&quote, pair->key.data, pair->key.size),
			 nearest ? "; did you mean '" : ": it takes path, kind, root, format",
			 nearest ? nearest : "", nearest ? "'?" : "");
}

static int dataset_check_choice(const char *key, const char *value, const char *const *choices,
				struct fault *fault)
{
	struct quote quote;
	if (!value)
		return 0;
	char list[64] = "";
	for (const char *const *choice = choices; *choice; choice++) {
		if (strcmp(value, *choice) == 0)
			return 0;
		strcat(strcat(list, list[0] ? ", " : ""), *choice);
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
	if (path[0] != '/')
		return fault_say(fault, DATASET_E_ARGUMENT,
				 "dataset: '%s' must be absolute, for the daemon stands in another "
				 "folder than you: '%s'",
				 key, quote_text(&quote, path));
	dataset_tidy_path(path);
	return 0;
}

static int dataset_check_values(const struct dataset_spec *spec, struct fault *fault)
{
	static const char *const names[] = {"folder", "manifest", NULL};
	static const char *const formats[] = {"lines", "tsv", "csv", "jsonl", NULL};
	if (!spec->path)
		return fault_say(fault, DATASET_E_ARGUMENT, "dataset: 'path' is missing");
	int result = dataset_check_path("path", spec->path, fault);
	if (!result)
		result = dataset_check_path("root", spec->root, fault);
	if (!result)
		result = dataset_check_choice("kind", spec->kind, names, fault);
	if (!result)
		result = dataset_check_choice("format", spec->format, formats, fault);
	if (!result && spec->kind)
		result = dataset_check_spec(spec, dataset_find_kind(spec->kind), fault);
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
	free(spec->kind);
	free(spec->path);
	free(spec->root);
	free(spec->format);
	*spec = DATASET_SPEC_NULL;
}

static bool dataset_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

bool dataset_spec_equal(const struct dataset_spec *a, const struct dataset_spec *b)
{
	return dataset_same(a->kind, b->kind) && dataset_same(a->path, b->path) &&
	       dataset_same(a->root, b->root) && dataset_same(a->format, b->format);
}
