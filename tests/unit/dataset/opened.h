/* SPDX-License-Identifier: MIT */
/*
 * Datasets that are opened on a temporary tree of files.
 */
#ifndef STOKER_TEST_OPENED_H
#define STOKER_TEST_OPENED_H

#include "dataset/dataset.h"
#include "tests/unit/tree.h"
#include "tests/unit/values.h"

static inline const char *anything_below(const void *context, const char *path)
{
	(void)path;
	return context;
}

/* What it is for a user who may have everything read; links stay beneath the dataset's folder. */
static inline int parse(struct dataset_spec *spec, const struct pair *pairs, uint32_t count)
{
	const struct value map = MAP_OF(pairs, count);
	const char *path;
	int result = dataset_spec_parse(spec, &map, &fault);
	if (result)
		return result;
	result = dataset_spec_confine(spec, anything_below, "/", &path);
	if (result)
		dataset_spec_deinit(spec);
	return result;
}

static inline int open_with(struct dataset **out, const char *path, const char *key,
			    const char *value)
{
	struct pair pairs[] = {pair("path", path), pair(key ? key : "", value ? value : "")};
	struct dataset_spec spec;
	struct dataset_progress progress = {0};
	int result = parse(&spec, pairs, key ? 2 : 1);
	if (result)
		return result;
	result = dataset_open(out, &spec, &progress, &fault);
	dataset_spec_deinit(&spec);
	if (!result)
		assert_true(atomic_load(&progress.found) == dataset_count(*out));
	return result;
}

/* Parse `parts` of these paths, and open them if the description is right. */
static inline int open_joined(struct dataset **out, const char *const *paths, uint32_t count)
{
	struct pair pairs[20];
	struct value maps[20];
	struct dataset_spec spec;
	struct dataset_progress progress = {0};
	for (uint32_t i = 0; i < count; i++) {
		pairs[i] = pair("path", paths[i]);
		maps[i] = (struct value)MAP_OF(&pairs[i], 1);
	}
	struct pair parts = KEY("parts", LIST_OF(maps, count));
	int result = parse(&spec, &parts, 1);
	if (result)
		return result;
	result = dataset_open(out, &spec, &progress, &fault);
	dataset_spec_deinit(&spec);
	return result;
}

static inline struct dataset *must_open(const char *path)
{
	struct dataset *dataset;
	if (open_with(&dataset, path, NULL, NULL))
		fail_msg("%s", fault.text);
	return dataset;
}

static inline void assert_refused(const char *path, int condition, const char *words)
{
	struct dataset *dataset;
	fault.text[0] = '\0';
	assert_int_equal(open_with(&dataset, path, NULL, NULL), condition);
	assert_words(words);
}

static inline const char *path_of(const struct dataset *dataset, uint64_t sample)
{
	static char path[PATH_MAX];
	assert_true(dataset_path(dataset, sample, path, sizeof(path)) < sizeof(path));
	return path;
}

static inline int64_t label_of(const struct dataset *dataset, uint64_t sample)
{
	int64_t label;
	assert_int_equal(dataset_label(dataset).bytes, sizeof(label));
	dataset_read_label(dataset, sample, &label);
	return label;
}

static inline void assert_sample(const struct dataset *dataset, uint64_t sample, const char *path,
				 int64_t label)
{
	assert_string_equal(path_of(dataset, sample), path);
	assert_int_equal(label_of(dataset, sample), label);
}

#endif
