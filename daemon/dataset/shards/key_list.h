/* SPDX-License-Identifier: MIT */
/*
 * The keys of samples, in their order, and the ending of each sample's picture. Keys are
 * front-coded: of neighbours that begin alike only the rest is kept, so the key "000123456" takes
 * some 3 bytes. Filled on one thread; then immutable, any thread.
 */
#ifndef STOKER_DATASET_SHARDS_KEY_LIST_H
#define STOKER_DATASET_SHARDS_KEY_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "dataset/shards/tar_walk.h"

#define KEY_LIST_ENDINGS_MAX 256

struct key_list {
	uint64_t count;
	uint8_t *data; /* a record a key: bytes shared with the one before, the rest, the ending */
	uint64_t size, capacity;
	uint64_t *blocks; /* where every KEY_LIST_BLOCK-th record begins; it shares nothing */
	uint64_t block_capacity;
	uint64_t block_count;
	char *endings; /* texts, each terminated, in the order of their numbers */
	uint64_t endings_size, endings_capacity;
	uint32_t ending_count;
	size_t last_size; /* the key added last */
	uint8_t last_ending;
	char last[TAR_NAME_MAX + 1];
};

enum {
	KEY_LIST_E_ENDINGS = 1, /* more endings than KEY_LIST_ENDINGS_MAX */
};

/* Add a key of at most TAR_NAME_MAX bytes; no NUL is in the ending. 0, KEY_LIST_E_ENDINGS or
 * -ENOMEM. */
int key_list_add(struct key_list *list, const char *key, size_t size, const char *ending,
		 size_t ending_size);
void key_list_shrink(struct key_list *list); /* no more keys will come */
void key_list_deinit(struct key_list *list);
size_t key_list_bytes(const struct key_list *list);
/* "KEY.ENDING", or "KEY" if the ending is empty, into `out`, which has room for TAR_NAME_MAX + 1
 * bytes; terminated. Returns its length. */
size_t key_list_read(const struct key_list *list, uint64_t number, char *out);

#endif
