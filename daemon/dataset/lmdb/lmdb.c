// SPDX-License-Identifier: MIT
#include "dataset/lmdb/lmdb.h"

#include <stdio.h>
#include <string.h>

#include "dataset/lmdb/lmdb_names.h"
#include "dataset/lmdb/lmdb_walk.h"
#include "dataset/shards/shard_sample.h"
#include "dataset/shards/shards.h"

#define KEY_MAX 511 /* bytes, as LMDB is built */

/* The key as a text. */
static size_t lmdb_key(const struct lmdb_item *item, char out[2 * KEY_MAX + 1])
{
	size_t size = item->key_size < KEY_MAX ? item->key_size : KEY_MAX;
	bool text = true;
	for (size_t i = 0; i < size; i++)
		text = text && item->key[i] >= ' ' && item->key[i] < 0x7F;
	for (size_t i = 0; i < size && !text; i++)
		snprintf(out + 2 * i, 3, "%02x", item->key[i]);
	if (text)
		memcpy(out, item->key, size);
	size = text ? size : 2 * size;
	out[size] = '\0';
	return size;
}

static int lmdb_add(struct shard_pass *pass, const struct lmdb_item *item, struct fault *fault)
{
	char text[2 * KEY_MAX + 1];
	struct fault why;
	size_t size = lmdb_key(item, text);
	if (size >= 2 && memcmp(text, "__", 2) == 0)
		return 0;
	const struct shard_sample sample = {
		.key = text,
		.key_size = size,
		.ending = "",
		.offset = item->offset,
		.size = item->size,
		.picture_size = item->size,
	};
	int result = shard_index_add(pass->index, &sample, &why);
	result = result > 0 ? SHARD_SAMPLE_E_BAD : result;
	return shard_pass_added(pass, result, text, size, &why, fault);
}

static int lmdb_walk_keys(struct shard_pass *pass, struct lmdb_walk *walk, struct fault *fault)
{
	struct fault why;
	int result = lmdb_walk_begin(walk, &why);
	while (!result) {
		struct lmdb_item item;
		result = lmdb_walk_next(walk, &item, &why);
		if (result == LMDB_DONE)
			return 0;
		if (result)
			break;
		result = shard_pass_check(pass, fault);
		if (!result)
			result = lmdb_add(pass, &item, fault);
		if (result)
			return result;
	}
	return result < 0 ? result : shard_pass_say_shard(pass, &why, fault);
}

static int lmdb_walk_shard(struct shard_pass *pass, void *context, struct fault *fault)
{
	struct lmdb_walk walk;
	struct fault why;
	uint64_t memory = 0;
	(void)context;
	pass->reader.dense = true; /* pages of keys are neighbours, but for large values between */
	int result = lmdb_walk_look(&walk, shard_reader_fetch, &pass->reader,
				    pass->reader.version.size, &memory, &why);
	if (result)
		return result < 0 ? result : shard_pass_say_shard(pass, &why, fault);
	result = dataset_progress_add(pass->progress, memory, fault);
	if (!result)
		result = lmdb_walk_keys(pass, &walk, fault);
	lmdb_walk_deinit(&walk);
	return result;
}

static int lmdb_pass(struct shard_pass *pass, struct fault *fault)
{
	return shard_pass_run(pass, lmdb_walk_shard, NULL, fault);
}

/* -- the kind --------------------------------------------------------------------------------- */

static int lmdb_parse(struct roles *out, const struct dataset_spec *spec, struct fault *fault)
{
	(void)spec;
	(void)fault;
	*out = (struct roles){0};
	return 0;
}

static int lmdb_open(void **state_out, const struct dataset_spec *spec,
		     struct dataset_progress *progress, struct dataset_facts *facts,
		     struct fault *fault)
{
	static const struct shard_form form = {
		.kind = "lmdb", .parse = lmdb_parse, .names = lmdb_names, .pass = lmdb_pass};
	return shards_open(state_out, &form, spec, progress, facts, fault);
}

const struct dataset_kind lmdb_kind = {
	.name = "lmdb",
	.suits = lmdb_suits,
	.clue = KIND_BY_CONTENT,
	.open = lmdb_open,
	.free = shards_free,
	.class_name = shards_class_name,
	.read_label = shards_read_label,
	.path = shards_path,
	.read = shards_read,
	.read_head = shards_read_head,
	.head_version = shards_indexed,
	.version = shards_version,
	.shard_first = shards_first,
};
