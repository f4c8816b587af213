// SPDX-License-Identifier: MIT
#include "dataset/shards/tar_pass.h"

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

struct tar_pass {
	struct shard_gathering *gathering;
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

static int pass_say(struct shard_pass *shards, const struct tar_pass *pass, const struct fault *why,
		    struct fault *fault)
{
	return shard_pass_say_sample(shards, pass->gathering->key, pass->gathering->key_size, why,
				     fault);
}

static int pass_end_sample(struct shard_pass *shards, struct tar_pass *pass, struct fault *fault)
{
	struct fault why;
	if (!pass->gathering->open)
		return 0;
	int result = shard_gathering_end(pass->gathering, shards->index, &why);
	return shard_pass_added(shards, result, pass->gathering->key, pass->gathering->key_size,
				&why, fault);
}

static int pass_begin_sample(struct shard_pass *shards, struct tar_pass *pass, const char *key,
			     size_t size, struct fault *fault)
{
	static const struct fault twice = {
		"its key comes twice in the shard, with others between: keys are unique, and the "
		"members of a sample follow each other"};
	int result = pass_end_sample(shards, pass, fault);
	if (result)
		return result;
	shard_gathering_begin(pass->gathering, key, size);
	result = seen_add(&pass->seen, key, size);
	return result > 0 ? pass_say(shards, pass, &twice, fault) : result;
}

static int pass_take_member(struct shard_pass *shards, struct tar_pass *pass,
			    const struct tar_member *member, struct fault *fault)
{
	struct fault why;
	struct quote quote;
	size_t key;
	int result = 0;
	if (strlen(member->name) != member->name_size)
		return fault_say(fault, DATASET_E_OPEN, "%s: a member's name has a NUL byte",
				 quote_text(&quote, shards->reader.name));
	if (!roles_split(member->name, member->name_size, &key))
		return 0;
	if (!shard_gathering_fits(pass->gathering, member->name, key))
		result = pass_begin_sample(shards, pass, member->name, key, fault);
	if (result)
		return result;
	result = shard_gathering_take(pass->gathering, member, &shards->reader, &why);
	return result > 0 ? pass_say(shards, pass, &why, fault) : result;
}

static int pass_walk(struct shard_pass *shards, void *context, struct fault *fault)
{
	struct tar_pass *pass = context;
	struct fault why;
	seen_clear(&pass->seen);
	tar_walk_begin(&pass->walk, shard_reader_fetch, &shards->reader,
		       shards->reader.version.size);
	for (;;) {
		struct tar_member member;
		int result = shard_pass_check(shards, fault);
		if (result)
			return result;
		result = tar_walk_next(&pass->walk, &member, &why);
		if (result == TAR_DONE)
			return pass_end_sample(shards, pass, fault);
		if (result)
			return result < 0 ? result : shard_pass_say_shard(shards, &why, fault);
		result = pass_take_member(shards, pass, &member, fault);
		if (result)
			return result;
	}
}

int tar_pass(struct shard_pass *shards, struct fault *fault)
{
	struct tar_pass *pass = calloc(1, sizeof(*pass));
	if (!pass)
		return -ENOMEM;
	int result = shard_gathering_new(&pass->gathering, shards->roles);
	if (!result)
		result = shard_pass_run(shards, pass_walk, pass, fault);
	shard_gathering_free(pass->gathering);
	free(pass->seen.table);
	free(pass);
	return result;
}
