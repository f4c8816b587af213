// SPDX-License-Identifier: MIT
#include "dataset/arrays/npz.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ending.h"
#include "base/quote.h"
#include "dataset/arrays/npy_array.h"
#include "dataset/arrays/published.h"

#define ENDING ".npy"
#define NAME_MAX_BYTES 256 /* of an array, with the ending; longer ones are ignored */

/* An array of the file, as far as its header tells. */
struct npz_member {
	char name[NAME_MAX_BYTES]; /* without the ending */
	unsigned dims;		   /* 0: it cannot be pictures */
};

/* State of one opening. */
struct npz {
	const char *path;
	struct npz_member *members; /* owned */
	size_t count, capacity;
	bool twice;		     /* two have the same name */
	const char *images, *labels; /* the chosen names; labels NULL: none */
	struct fault *fault;
};

static const char *npz_find(const struct npz *npz, const char *name)
{
	for (size_t i = 0; i < npz->count; i++) {
		if (strcmp(npz->members[i].name, name) == 0)
			return npz->members[i].name;
	}
	return NULL;
}

static int npz_see(void *with, const char *name, const uint8_t *head, size_t size)
{
	struct npz *npz = with;
	struct npy_header header;
	struct fault why;
	if (!ends_in(name, ENDING) || strlen(name) >= NAME_MAX_BYTES)
		return 0;
	if (npz->count == npz->capacity) {
		size_t capacity = npz->capacity ? 2 * npz->capacity : 8;
		void *members = realloc(npz->members, capacity * sizeof(*npz->members));
		if (!members)
			return -ENOMEM;
		npz->members = members;
		npz->capacity = capacity;
	}
	struct npz_member *member = &npz->members[npz->count];
	*member = (struct npz_member){.dims = 0};
	memcpy(member->name, name, strlen(name) - strlen(ENDING));
	npz->twice |= npz_find(npz, member->name) != NULL;
	npz->count++;
	if (npy_header_parse(&header, head, size, &why) == 0 && npy_array_is_pictures(&header))
		member->dims = header.dims;
	return 0;
}

/* -- which arrays ---------------------------------------------------------------------------- */

/* DATASET_E_OPEN, with a list of all arrays, or of those that can be pictures. */
static int npz_say(const struct npz *npz, const char *what, bool pictures)
{
	struct quote quote, inner;
	char list[200] = "";
	size_t size = 0, named = 0;
	for (size_t i = 0; i < npz->count && size + 1 < sizeof(list); i++) {
		if (pictures && !npz->members[i].dims)
			continue;
		int n = snprintf(list + size, sizeof(list) - size, "%s%s", named++ ? ", " : "",
				 quote_text(&inner, npz->members[i].name));
		size += n > 0 ? (size_t)n : 0;
	}
	return fault_say(npz->fault, DATASET_E_OPEN, "cannot open the dataset %s: %s%s%s",
			 quote_text(&quote, npz->path), what, named ? ": it holds " : "", list);
}

static int npz_say_none(const struct npz *npz, const char *name)
{
	struct quote quote;
	char what[sizeof(quote) + 32];
	snprintf(what, sizeof(what), "it has no array '%s'", quote_text(&quote, name));
	return npz_say(npz, what, false);
}

/* Choose the only array of this many dimensions that can be pictures; false if there are several.
 */
static bool npz_find_only(struct npz *npz, unsigned dims)
{
	for (size_t i = 0; i < npz->count; i++) {
		if (npz->members[i].dims != dims)
			continue;
		if (npz->images)
			return false;
		npz->images = npz->members[i].name;
	}
	return true;
}

static int npz_choose_only(struct npz *npz)
{
	bool only = npz_find_only(npz, 4);
	if (!npz->images)
		only = npz_find_only(npz, 3);
	if (!only)
		return npz_say(npz, "name the array of pictures by 'images'", true);
	return npz->images ? 0 : npz_say(npz, "it has no array of pictures", false);
}

/* Choose by the usual names. */
static int npz_choose_known(struct npz *npz, const char *split)
{
	static const char *const pairs[][2] = {
		{"x_train", "y_train"}, {"x", "y"}, {"images", "labels"}};
	bool test = split && strcmp(split, "test") == 0;
	if (test) {
		npz->images = npz_find(npz, "x_test");
		npz->labels = npz_find(npz, "y_test");
		return npz->images ? 0 : npz_say_none(npz, "x_test");
	}
	for (size_t i = 0; i < (split ? 1 : sizeof(pairs) / sizeof(pairs[0])); i++) {
		npz->images = npz_find(npz, pairs[i][0]);
		npz->labels = npz_find(npz, pairs[i][1]);
		if (npz->images)
			return 0;
	}
	npz->labels = NULL;
	return split ? npz_say_none(npz, "x_train") : npz_choose_only(npz);
}

static int npz_choose(struct npz *npz, const struct dataset_spec *spec)
{
	if (npz->twice)
		return npz_say(npz, "two of its arrays have the same name", false);
	if (spec->images && spec->split)
		return fault_say(npz->fault, DATASET_E_ARGUMENT,
				 "dataset: 'split' chooses between x_train and x_test, but "
				 "'images' already names an array: give one of them");
	int result = 0;
	if (!spec->images)
		result = npz_choose_known(npz, spec->split);
	else if (!(npz->images = npz_find(npz, spec->images)))
		result = npz_say_none(npz, spec->images);
	if (result || !spec->labels)
		return result;
	npz->labels = npz_find(npz, spec->labels);
	return npz->labels ? 0 : npz_say_none(npz, spec->labels);
}

/* -- the samples ----------------------------------------------------------------------------- */

/* The file is read a second time, so an array may be gone. */
static int npz_take(const struct npz *npz, struct npy_array *out, const char *name,
		    const struct bundle_file *file)
{
	if (!file->found)
		return npz_say_none(npz, name);
	return npy_array_take(out, npz->path, name, file->bytes.data, file->bytes.size, npz->fault);
}

static int npz_load(struct arrays **out, const struct npz *npz, const struct bundle *bundle,
		    struct dataset_progress *progress, struct dataset_facts *facts)
{
	char names[2][NAME_MAX_BYTES + sizeof(ENDING)];
	struct bundle_file files[2] = {{.name = names[0]}, {.name = names[1]}};
	struct npy_array images = NPY_ARRAY_NULL, labels = NPY_ARRAY_NULL;
	size_t count = npz->labels ? 2 : 1;
	snprintf(names[0], sizeof(names[0]), "%s" ENDING, npz->images);
	snprintf(names[1], sizeof(names[1]), "%s" ENDING, npz->labels ? npz->labels : "");
	int result = published_read(bundle, files, count, npz->fault);
	if (!result)
		result = npz_take(npz, &images, npz->images, &files[0]);
	if (!result && npz->labels)
		result = npz_take(npz, &labels, npz->labels, &files[1]);
	if (!result)
		result = npy_array_load(out, &images, npz->labels ? &labels : NULL, progress, facts,
					npz->fault);
	bundle_files_deinit(files, 2);
	return result;
}

static int npz_open(void **state_out, const struct dataset_spec *spec,
		    struct dataset_progress *progress, struct dataset_facts *facts,
		    struct fault *fault)
{
	struct bundle bundle = published_bundle(spec, NULL, progress);
	struct npz npz = {.path = spec->path, .fault = fault};
	struct arrays *arrays;
	int result = published_list(&bundle, NPY_HEADER_MAX, npz_see, &npz, fault);
	if (!result)
		result = npz_choose(&npz, spec);
	if (!result)
		result = npz_load(&arrays, &npz, &bundle, progress, facts);
	if (!result)
		*state_out = arrays;
	free(npz.members);
	return result;
}

static bool npz_suits(const struct dataset_spec *spec, bool folder)
{
	return !folder && ends_in(spec->path, ".npz");
}

const struct dataset_kind npz_kind = {
	.name = "npz",
	.suits = npz_suits,
	.clue = KIND_BY_NAME,
	.open = npz_open,
	.free = arrays_free,
	.class_name = arrays_class_name,
	.read_label = arrays_read_label,
	.path = arrays_path,
	.pixels = arrays_pixels,
};
