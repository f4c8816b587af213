/* SPDX-License-Identifier: MIT */
/*
 * Walks the tree of an LMDB database in the order of its keys, and says where each value lies. The
 * bytes come from the caller's function and are hostile: no page is visited twice, no two values
 * share one, all lie within the file, and the walk ends. Where that is not so, or there are fewer
 * or more keys than the database says, it is an error that names the page. Owns a copy of each page
 * from the root to the current one, and a bit for each page. One thread; knows no file.
 *
 * LMDB has no checksums: a bit that changed within a key or a picture is not seen here.
 */
#ifndef STOKER_DATASET_LMDB_LMDB_WALK_H
#define STOKER_DATASET_LMDB_LMDB_WALK_H

#include "dataset/lmdb/lmdb_page.h"

#define LMDB_DEPTH_MAX 32

enum {
	LMDB_DONE = LMDB_E_BAD + 1, /* there is no further key */
};

/* `size` bytes from `offset` on, which lie within the file; *out stays valid until the next call.
 * 0, LMDB_E_BAD or a negative errno. */
typedef int lmdb_fetch(void *context, uint64_t offset, size_t size, const uint8_t **out,
		       struct fault *fault);

struct lmdb_walk {
	lmdb_fetch *fetch;
	void *context;
	struct lmdb_meta meta;
	uint64_t found; /* keys so far */
	uint8_t *seen;	/* owned: a bit for each page */
	uint8_t *pages; /* owned: of the levels, from the root on */
	struct lmdb_level {
		unsigned at, count; /* nodes */
		bool branch;
	} levels[LMDB_DEPTH_MAX];
	unsigned depth; /* 0: the tree is walked */
};
#define LMDB_WALK_NULL ((struct lmdb_walk){0})

/* A key and its value; the key is the walk's until its next call. */
struct lmdb_item {
	const uint8_t *key;
	size_t key_size;
	uint64_t offset, size; /* of the value, in the file */
};

/* Read the head of a file of `size` bytes: *memory_out is what the walk allocates when it begins,
 * in bytes. 0, LMDB_E_BAD or a negative errno of fetch(). */
int lmdb_walk_look(struct lmdb_walk *walk, lmdb_fetch *fetch, void *context, uint64_t size,
		   uint64_t *memory_out, struct fault *fault);
int lmdb_walk_begin(struct lmdb_walk *walk, struct fault *fault);
/* 0, LMDB_DONE, LMDB_E_BAD or a negative errno. */
int lmdb_walk_next(struct lmdb_walk *walk, struct lmdb_item *out, struct fault *fault);
void lmdb_walk_deinit(struct lmdb_walk *walk);

#endif
