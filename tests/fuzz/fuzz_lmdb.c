// SPDX-License-Identifier: MIT
/*
 * Any bytes as an LMDB database: the walk over its keys ends, asks for nothing outside of the file,
 * takes no more memory than it says, and the values that it names lie within.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/lmdb/lmdb_walk.h"
#include "tests/fuzz/fuzz.h"

struct bytes {
	const uint8_t *data;
	size_t size;
};

static int fetch(void *context, uint64_t offset, size_t size, const uint8_t **out,
		 struct fault *fault)
{
	const struct bytes *bytes = context;
	(void)fault;
	require(size > 0 && offset <= bytes->size && size <= bytes->size - offset,
		"asked for too much");
	*out = bytes->data + offset;
	return 0;
}

static void look_at(const struct bytes *bytes, const struct lmdb_item *item)
{
	static uint8_t key[1 << 16];
	require(item->key_size <= sizeof(key), "a key that is too long");
	memcpy(key, item->key, item->key_size); /* all of it can be read */
	require(item->offset >= LMDB_META_SIZE && item->offset <= bytes->size &&
			item->size <= bytes->size - item->offset,
		"a value out of place");
}

FUZZ_TARGET(lmdb)
{
	struct lmdb_walk walk;
	struct fault fault = {""};
	uint64_t memory = 0;
	struct bytes bytes = {data, size};
	int result = lmdb_walk_look(&walk, fetch, &bytes, size, &memory, &fault);
	if (!result) {
		require(memory <= size + ((size_t)LMDB_DEPTH_MAX << 15), "too much memory");
		result = lmdb_walk_begin(&walk, &fault);
	}
	while (!result) {
		struct lmdb_item item;
		result = lmdb_walk_next(&walk, &item, &fault);
		if (!result)
			look_at(&bytes, &item);
	}
	require((result == LMDB_E_BAD) == (fault.text[0] != '\0'),
		"words if and only if it is bad");
	lmdb_walk_deinit(&walk);
	return 0;
}
