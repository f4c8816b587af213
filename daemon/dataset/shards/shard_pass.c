// SPDX-License-Identifier: MIT
#include "dataset/shards/shard_pass.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "dataset/shards/shard_sample.h"

/* The keys of one shard, as hashes, to notice one that comes back: open addressing, 0 is empty. */
struct seen {
	uint64_t *table;
	uint64_t size, used;
};

struct pass {
	struct shard_index *index;
	struct dataset_progress *progress;
	bool skip;
	uint64_t skipped;
	struct shard_gathering *gathering;
	struct shard_reader reader;
	struct tar_walk walk;
	struct seen seen;
};

/* -- keys ------------------------------------------------------------------------------------- */

static uint64_t *seen_slot(const struct seen *seen, uint64_t hash)
{
	uint64_t at = hash;
	for (;; at++) {
		uint64_t *slot = &seen->table[at & (seen->size - 1)];
		if (*slot == 0 || *slot == hash)
			return slot;
	}
}

static int seen_grow(struct seen *seen)
{
	if (seen->used * 2 < seen->size)
		return 0;
	struct seen larger = {.size = seen->size ? seen->size * 2 : 4096, .used = seen->used};
	larger.table = calloc(larger.size, sizeof(*larger.table));
	if (!larger.table)
		return -ENOMEM;
	for (uint64_t i = 0; i < seen->size; i++) {
		if (seen->table[i])
			*seen_slot(&larger, seen->table[i]) = seen->table[i];
	}
	free(seen->table);
	*seen = larger;
	return 0;
}

static void seen_clear(struct seen *seen)
{
	if (seen->table)
		memset(seen->table, 0, seen->size * sizeof(*seen->table));
	seen->used = 0;
}

/* 0, -ENOMEM, or 1: the key was there before. */
static int seen_add(struct seen *seen, const char *key, size_t size)
{
	struct digest digest = digest_of(key, size);
	uint64_t hash;
	if (seen_grow(seen))
		return -ENOMEM;
	memcpy(&hash, digest.bytes, sizeof(hash));
	hash = hash ? hash : 1;
	uint64_t *slot = seen_slot(seen, hash);
	if (*slot)
		return 1;
	*slot = hash;
	seen->used++;
	return 0;
}

/* -- one shard -------------------------------------------------------------------------------- */

/* What is wrong with the sample under way. */
static int pass_say_sample(struct pass *pass, const struct fault *why, struct fault *fault)
{
	struct quote shard, key;
	return fault_say(fault, DATASET_E_OPEN, "%s: the sample '%s': %s",
			 quote_text(&shard, pass->reader.name),
			 quote_bytes(&key, pass->gathering->key, pass->gathering->key_size),
			 why->text);
}

static int pass_end_sample(struct pass *pass, struct fault *fault)
{
	struct fault why;
	if (!pass->gathering->open)
		return 0;
	int result = shard_gathering_end(pass->gathering, pass->index, &why);
	if (result == 0) {
		atomic_fetch_add_explicit(&pass->progress->found, 1, memory_order_relaxed);
		return dataset_progress_grown(pass->progress, shard_index_bytes(pass->index),
					      fault);
	}
	if (result == SHARD_SAMPLE_LACKS && pass->skip) {
		pass->skipped++;
		return 0;
	}
	return result > 0 ? pass_say_sample(pass, &why, fault) : result;
}

static int pass_begin_sample(struct pass *pass, const char *key, size_t size, struct fault *fault)
{
	static const struct fault twice = {
		"its key comes twice in the shard, with others between: keys are unique, and the "
		"members of a sample follow each other"};
	int result = pass_end_sample(pass, fault);
	if (result)
		return result;
	shard_gathering_begin(pass->gathering, key, size);
	result = seen_add(&pass->seen, key, size);
	return result > 0 ? pass_say_sample(pass, &twice, fault) : result;
}

static int pass_take_member(struct pass *pass, const struct tar_member *member, struct fault *fault)
{
	struct fault why;
	struct quote quote;
	size_t key;
	int result = 0;
	if (strlen(member->name) != member->name_size)
		return fault_say(fault, DATASET_E_OPEN, "%s: a member's name has a NUL byte",
				 quote_text(&quote, pass->reader.name));
	if (!roles_split(member->name, member->name_size, &key))
		return 0;
	if (!shard_gathering_fits(pass->gathering, member->name, key))
		result = pass_begin_sample(pass, member->name, key, fault);
	if (result)
		return result;
	result = shard_gathering_take(pass->gathering, member, &pass->reader, &why);
	return result > 0 ? pass_say_sample(pass, &why, fault) : result;
}

/* Why a shard cannot be read. */
static int pass_say_shard(struct pass *pass, const struct fault *why, struct fault *fault)
{
	struct quote quote;
	const char *packing = shard_reader_packing(&pass->reader);
	quote_text(&quote, pass->reader.name);
	if (packing)
		return fault_say(fault, DATASET_E_OPEN,
				 "the shard %s is packed with %s: samples are read at their place, "
				 "so unpack it (pictures hardly shrink by packing)",
				 quote.text, packing);
	return fault_say(fault, DATASET_E_OPEN, "the shard %s: %s", quote.text, why->text);
}

static int pass_walk(struct pass *pass, struct fault *fault)
{
	struct fault why;
	tar_walk_begin(&pass->walk, shard_reader_fetch, &pass->reader, pass->reader.version.size);
	for (;;) {
		struct tar_member member;
		if (atomic_load_explicit(&pass->progress->cancel, memory_order_relaxed))
			return fault_say(fault, DATASET_E_CANCELLED, "indexing was cancelled");
		int result = tar_walk_next(&pass->walk, &member, &why);
		if (result == TAR_DONE)
			break;
		if (result)
			return result < 0 ? result : pass_say_shard(pass, &why, fault);
		result = pass_take_member(pass, &member, fault);
		if (result)
			return result;
	}
	int result = pass_end_sample(pass, fault);
	if (!result && shard_reader_end(&pass->reader, &why))
		result = pass_say_shard(pass, &why, fault);
	return result;
}

static int pass_shard(struct pass *pass, const struct storage_folder *folder, const char *name,
		      struct fault *fault)
{
	struct fault why;
	int result = shard_reader_begin(&pass->reader, folder, name, &why);
	if (result)
		return result < 0 ? result
				  : fault_say(fault, DATASET_E_OPEN, "the shard: %s", why.text);
	result = shard_index_begin_shard(pass->index, name, &pass->reader.version, &why);
	if (result)
		return result < 0 ? result : fault_say(fault, DATASET_E_OPEN, "%s", why.text);
	seen_clear(&pass->seen);
	result = pass_walk(pass, fault);
	if (!result)
		shard_index_end_shard(pass->index);
	return result;
}

int shard_pass(struct shard_index *index, const struct shard_names *names,
	       const struct storage_folder *folder, const struct roles *roles,
	       struct dataset_progress *progress, uint64_t *skipped_out, struct fault *fault)
{
	struct pass *pass = calloc(1, sizeof(*pass));
	if (!pass)
		return -ENOMEM;
	pass->index = index;
	pass->progress = progress;
	pass->skip = roles->skip;
	int result = shard_gathering_new(&pass->gathering, roles);
	for (uint64_t i = 0; i < names->count && !result; i++)
		result = pass_shard(pass, folder, names->names[i], fault);
	*skipped_out = pass->skipped;
	shard_gathering_free(pass->gathering);
	shard_reader_deinit(&pass->reader);
	free(pass->seen.table);
	free(pass);
	return result;
}
