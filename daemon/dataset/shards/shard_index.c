// SPDX-License-Identifier: MIT
#include "dataset/shards/shard_index.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "dataset/index.h"

enum stream_tag { TAG_CLASS = 1, TAG_SAMPLE = 2, TAG_SHARD = 6 };

static void digest_text(struct digest_state *digest, const char *text, size_t size)
{
	digest_add_u64(digest, size);
	digest_add(digest, text, size);
}

int shard_index_new(struct shard_index **out, const char *kind)
{
	struct shard_index *index = calloc(1, sizeof(*index));
	if (!index)
		return -ENOMEM;
	if (digest_begin(&index->digest)) {
		free(index);
		return -ENOMEM;
	}
	digest_text(index->digest, "stoker dataset 1", 16);
	digest_text(index->digest, kind, strlen(kind));
	*out = index;
	return 0;
}

void shard_index_free(struct shard_index *index)
{
	if (!index)
		return;
	if (index->digest)
		digest_end(index->digest);
	for (uint64_t i = 0; i < index->shard_count; i++)
		free(index->shards[i].name);
	free(index->shards);
	number_list_deinit(&index->offsets);
	number_list_deinit(&index->sizes);
	key_list_deinit(&index->keys);
	labels_deinit(&index->labels);
	class_names_deinit(&index->names);
	free(index->classes);
	columns_deinit(&index->columns);
	free(index);
}

int shard_index_begin_shard(struct shard_index *index, const char *name,
			    const struct storage_version *version, struct fault *fault)
{
	if (index->shard_count == SHARDS_MAX)
		return fault_say(fault, SHARD_INDEX_E_BAD,
				 "more than %" PRIu64 " shards: join them into fewer", SHARDS_MAX);
	if (ARRAY_RESERVE(index->shards, index->shard_capacity, index->shard_count + 1))
		return -ENOMEM;
	struct shard shard = {strdup(name), *version, index->count};
	if (!shard.name)
		return -ENOMEM;
	index->shards[index->shard_count++] = shard;
	return 0;
}

static int shard_index_add_member(struct shard_index *index, const struct shard_sample *sample,
				  struct fault *fault)
{
	if (index->count == INDEX_SAMPLES_MAX)
		return fault_say(fault, SHARD_INDEX_E_BAD,
				 "more samples than an index can hold (%" PRIu64
				 "): split the dataset into parts",
				 INDEX_SAMPLES_MAX);
	if (sample->size > UINT32_MAX || sample->offset >= SHARD_MEMBER_END_MAX)
		return fault_say(fault, SHARD_INDEX_E_BAD,
				 "a picture of 4 GiB or more, or behind 1 TiB of its shard");
	int result = key_list_add(&index->keys, sample->key, sample->key_size, sample->ending,
				  sample->ending_size);
	if (result > 0)
		return fault_say(
			fault, SHARD_INDEX_E_BAD,
			"pictures of more than %d different endings: convert them to few formats",
			KEY_LIST_ENDINGS_MAX);
	if (!result)
		result = number_list_add(&index->offsets, (int64_t)sample->offset);
	if (!result)
		result = number_list_add(&index->sizes, (int64_t)sample->size);
	if (!result)
		index->count++;
	return result;
}

static int shard_index_add_label(struct shard_index *index, const struct shard_sample *sample,
				 struct fault *fault)
{
	struct label name = {0};
	uint32_t number;
	if (!sample->class && sample->label_count == 0)
		return 0;
	if (sample->class &&
	    class_names_add(&index->names, sample->class, sample->class_size, &number))
		return -ENOMEM;
	if (sample->class)
		name.whole = number;
	uint32_t count = sample->class ? 1 : sample->label_count;
	int result = labels_add(&index->labels, sample->class ? &name : sample->labels, count);
	if (result == LABELS_E_ROUNDED)
		return fault_say(fault, SHARD_INDEX_E_BAD, "its label: " LABELS_ROUNDED);
	return result == LABELS_E_COUNT
		       ? fault_say(fault, SHARD_INDEX_E_BAD,
				   "its label is %" PRIu32 " numbers and that of the first sample "
				   "%" PRIu32 ": give all samples the same count",
				   count, index->labels.count)
		       : result;
}

int shard_index_add(struct shard_index *index, const struct shard_sample *sample,
		    struct fault *fault)
{
	int result = shard_index_add_member(index, sample, fault);
	if (!result)
		result = shard_index_add_label(index, sample, fault);
	if (!result && sample->cell_count)
		result = columns_add(&index->columns, sample->cells, sample->cell_count, fault)
				 ? SHARD_INDEX_E_BAD
				 : 0;
	if (result)
		return result;
	digest_add_u64(index->digest, TAG_SAMPLE);
	size_t dot = sample->ending_size ? 1 : 0;
	digest_add_u64(index->digest, sample->key_size + dot + sample->ending_size);
	digest_add(index->digest, sample->key, sample->key_size);
	digest_add(index->digest, ".", dot);
	digest_add(index->digest, sample->ending, sample->ending_size);
	digest_add_u64(index->digest, sample->picture_size);
	digest_add_u64(index->digest, INDEX_NO_CLASS);
	return 0;
}

void shard_index_end_shard(struct shard_index *index)
{
	digest_add_u64(index->digest, TAG_SHARD);
	digest_add_u64(index->digest, index->count - index->shards[index->shard_count - 1].first);
}

/* Classes that have numbers for names, in their order. */
static int shard_index_name_classes(struct shard_index *index, uint32_t classes)
{
	index->classes = malloc(classes * sizeof(*index->classes));
	if (!index->classes)
		return -ENOMEM;
	for (uint32_t i = 0; i < classes; i++) {
		char name[16];
		int size = snprintf(name, sizeof(name), "%" PRIu32, i);
		if (class_names_add(&index->names, name, (size_t)size, &index->classes[i]))
			return -ENOMEM;
		digest_add_u64(index->digest, TAG_CLASS);
		digest_text(index->digest, name, (size_t)size);
	}
	return 0;
}

/* The names become classes, in order. */
static int shard_index_number_classes(struct shard_index *index)
{
	const struct class_names *names = &index->names;
	if (names->count == 0)
		return 0;
	uint32_t *rank = malloc(names->count * sizeof(*rank));
	index->classes = class_names_sorted(names);
	if (!rank || !index->classes) {
		free(rank);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < names->count; i++) {
		const char *name = class_names_text(names, index->classes[i]);
		rank[index->classes[i]] = i;
		digest_add_u64(index->digest, TAG_CLASS);
		digest_text(index->digest, name, strlen(name));
	}
	labels_rename(&index->labels, rank);
	free(rank);
	return 0;
}

int shard_index_finish(struct shard_index *index, uint32_t classes)
{
	int result = classes ? shard_index_name_classes(index, classes)
			     : shard_index_number_classes(index);
	if (result)
		return result;
	index->fingerprint =
		index_digest_end(index->digest, &index->labels, &index->columns, index->count);
	index->digest = NULL;
	ARRAY_SHRINK(index->shards, index->shard_capacity, index->shard_count);
	number_list_shrink(&index->offsets);
	number_list_shrink(&index->sizes);
	key_list_shrink(&index->keys);
	labels_shrink(&index->labels);
	columns_shrink(&index->columns);
	return 0;
}

size_t shard_index_bytes(const struct shard_index *index)
{
	const struct class_names *names = &index->names;
	return sizeof(*index) + index->shard_capacity * sizeof(*index->shards) +
	       index->offsets.capacity + index->sizes.capacity + key_list_bytes(&index->keys) +
	       index->labels.numbers.capacity + names->capacity +
	       names->names_capacity * sizeof(*names->names) +
	       names->table_size * sizeof(*names->table) + names->count * sizeof(*index->classes) +
	       columns_bytes(&index->columns);
}

const struct shard *shard_index_of(const struct shard_index *index, uint64_t sample)
{
	/* The last shard that begins at or before the sample; empty ones begin where the next does.
	 */
	uint64_t low = 0, high = index->shard_count;
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;
		if (index->shards[middle].first <= sample)
			low = middle;
		else
			high = middle;
	}
	return &index->shards[low];
}

size_t shard_index_path(const struct shard_index *index, uint64_t sample, char *out, size_t size)
{
	char key[TAR_NAME_MAX + 1];
	key_list_read(&index->keys, sample, key);
	int whole = snprintf(out, size, "%s/%s", shard_index_of(index, sample)->name, key);
	return whole > 0 ? (size_t)whole : 0;
}
