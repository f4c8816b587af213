// SPDX-License-Identifier: MIT
#include "dataset/joined.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"

struct joined {
	uint32_t count;
	struct dataset *parts[JOINED_PARTS_MAX];
	char *roots[JOINED_PARTS_MAX];
	uint64_t first[JOINED_PARTS_MAX + 1]; /* sample of each part; at the end: of all parts */
};

/* -- opening --------------------------------------------------------------------------------- */

static void joined_free(void *state)
{
	struct joined *joined = state;
	for (uint32_t i = 0; joined && i < joined->count; i++) {
		dataset_free(joined->parts[i]);
		free(joined->roots[i]);
	}
	free(joined);
}

/* The folder that a part's paths are relative to, without a slash at the end. */
static char *joined_root(const struct dataset_spec *spec, const struct dataset *part)
{
	const char *root = spec->root ? spec->root : spec->path;
	size_t size = strlen(root);
	const char *kind = dataset_kind_name(part);
	if (!spec->root && strcmp(kind, "manifest") == 0)
		size = (size_t)(strrchr(root, '/') - root);
	const char *slash = memrchr(root, '/', strcspn(root, "{*?["));
	if (dataset_shard_count(part) && slash) /* the folder before the first pattern */
		size = (size_t)(slash - root);
	return strndup(root, size == 1 ? 0 : size);
}

static int joined_say(const struct dataset_spec *a, const struct dataset_spec *b, const char *what,
		      struct fault *fault)
{
	struct quote first, second;
	return fault_say(fault, DATASET_E_OPEN, "cannot join the datasets %s and %s: %s",
			 quote_text(&first, a->path), quote_text(&second, b->path), what);
}

static bool joined_same_classes(const struct dataset *a, const struct dataset *b)
{
	if (dataset_class_count(a) != dataset_class_count(b))
		return false;
	for (uint64_t i = 0; i < dataset_class_count(a); i++) {
		if (strcmp(dataset_class_name(a, i), dataset_class_name(b, i)) != 0)
			return false;
	}
	return true;
}

static bool joined_same_labels(const struct dataset *a, const struct dataset *b)
{
	struct dataset_label one = dataset_label(a), other = dataset_label(b);
	return strcmp(one.dtype, other.dtype) == 0 && one.dims == other.dims &&
	       one.count == other.count;
}

static bool joined_same_size(const struct dataset *a, const struct dataset *b)
{
	if (!dataset_has_pixels(a))
		return true;
	struct image one = dataset_pixels(a, 0), other = dataset_pixels(b, 0);
	return one.width == other.width && one.height == other.height &&
	       one.form.type == other.form.type && one.form.channels == other.form.channels;
}

/* Does part `i` go with the first? */
static int joined_check(const struct joined *joined, const struct dataset_spec *specs, uint32_t i,
			struct fault *fault)
{
	const struct dataset *a = joined->parts[0], *b = joined->parts[i];
	struct quote quote;
	if (dataset_columns(b)->count > 0)
		return fault_say(fault, DATASET_E_OPEN,
				 "cannot join the dataset %s to others: it has the column '%s', "
				 "and parts may have labels only",
				 quote_text(&quote, specs[i].path),
				 dataset_columns(b)->column[0].name);
	if (dataset_has_pixels(a) != dataset_has_pixels(b))
		return joined_say(&specs[0], &specs[i],
				  "the samples of one are files, of the other pixels in memory",
				  fault);
	if (!joined_same_size(a, b))
		return joined_say(&specs[0], &specs[i], "their pictures differ in size or channels",
				  fault);
	if (!joined_same_labels(a, b))
		return joined_say(&specs[0], &specs[i], "their labels differ in type or number",
				  fault);
	if (!joined_same_classes(a, b))
		return joined_say(&specs[0], &specs[i], "their classes differ", fault);
	return 0;
}

static int joined_add(struct joined *joined, const struct dataset_spec *specs,
		      struct dataset_progress *progress, struct fault *fault)
{
	uint32_t i = joined->count;
	progress->names = false;
	int result = progress->open_part(&joined->parts[i], &specs[i], progress, fault);
	dataset_progress_next(progress);
	if (result)
		return result;
	joined->count++;
	joined->first[i + 1] = joined->first[i] + dataset_count(joined->parts[i]);
	joined->roots[i] = joined_root(&specs[i], joined->parts[i]);
	return joined->roots[i] ? joined_check(joined, specs, i, fault) : -ENOMEM;
}

static int joined_sum(const struct joined *joined, struct dataset_progress *progress,
		      struct dataset_facts *facts)
{
	struct digest_state *state;
	if (digest_begin(&state) < 0)
		return -ENOMEM;
	digest_add(state, "joined", sizeof("joined"));
	digest_add_u64(state, joined->count);
	for (uint32_t i = 0; i < joined->count; i++) {
		const struct dataset *part = joined->parts[i];
		struct digest fingerprint = dataset_fingerprint(part);
		digest_add(state, fingerprint.bytes, sizeof(fingerprint.bytes));
		facts->skipped += dataset_skipped(part);
		if (*dataset_note(part))
			fault_say(&facts->note, 0, "%s", dataset_note(part));
		facts->index_bytes += dataset_index_bytes(part);
	}
	facts->fingerprint = digest_end(state);
	facts->count = joined->first[joined->count];
	facts->class_count = dataset_class_count(joined->parts[0]);
	facts->label = dataset_label(joined->parts[0]);
	facts->files = !dataset_has_pixels(joined->parts[0]);
	facts->parts = joined->count;
	facts->part = joined->parts;
	facts->part_first = joined->first;
	atomic_store(&progress->found, facts->count);
	return 0;
}

static int joined_open(void **state_out, const struct dataset_spec *spec,
		       struct dataset_progress *progress, struct dataset_facts *facts,
		       struct fault *fault)
{
	struct joined *joined = calloc(1, sizeof(*joined));
	int result = joined ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < spec->part_count && !result; i++)
		result = joined_add(joined, spec->parts, progress, fault);
	if (!result)
		result = joined_sum(joined, progress, facts);
	if (result)
		joined_free(joined);
	else
		*state_out = joined;
	return result;
}

/* -- samples --------------------------------------------------------------------------------- */

/* The part of a sample; *sample becomes its number within the part. */
static uint32_t joined_find(const struct joined *joined, uint64_t *sample)
{
	uint32_t low = 0, high = joined->count;
	while (high - low > 1) {
		uint32_t middle = (low + high) / 2;
		if (*sample < joined->first[middle])
			high = middle;
		else
			low = middle;
	}
	*sample -= joined->first[low];
	return low;
}

static const char *joined_class_name(const void *state, uint64_t label)
{
	const struct joined *joined = state;
	return dataset_class_name(joined->parts[0], label);
}

static void joined_read_label(const void *state, uint64_t sample, void *out)
{
	const struct joined *joined = state;
	uint32_t part = joined_find(joined, &sample);
	dataset_read_label(joined->parts[part], sample, out);
}

static size_t joined_path(const void *state, uint64_t sample, char *out, size_t size)
{
	const struct joined *joined = state;
	uint32_t part = joined_find(joined, &sample);
	size_t root = strlen(joined->roots[part]) + 1;
	if (size > 0)
		snprintf(out, size, "%s/", joined->roots[part]);
	bool room = size > root;
	return root + dataset_path(joined->parts[part], sample, room ? out + root : NULL,
				   room ? size - root : 0);
}

static struct dataset *joined_part(const void *state, uint64_t *sample)
{
	const struct joined *joined = state;
	return joined->parts[joined_find(joined, sample)];
}

static struct image joined_pixels(const void *state, uint64_t sample)
{
	const struct joined *joined = state;
	uint32_t part = joined_find(joined, &sample);
	return dataset_pixels(joined->parts[part], sample);
}

const struct dataset_kind joined_kind = {
	.name = "joined",
	.open = joined_open,
	.free = joined_free,
	.class_name = joined_class_name,
	.read_label = joined_read_label,
	.path = joined_path,
	.part = joined_part,
	.pixels = joined_pixels,
};
