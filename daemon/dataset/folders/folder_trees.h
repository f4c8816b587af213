/* SPDX-License-Identifier: MIT */
/*
 * Trees in a row: several threads list them ahead of the one who takes them, in their order, so
 * that many stats wait for storage at a time. Few are held at a time. One thread takes.
 */
#ifndef STOKER_DATASET_FOLDER_TREES_H
#define STOKER_DATASET_FOLDER_TREES_H

#include "dataset/folders/folder_tree.h"

struct folder_trees;

/* The folder that a tree begins with. */
struct folder_top {
	char *name; /* relative to the root */
	uint64_t id[2];
};

/* Borrows the listing and the tops. 0 or -ENOMEM. */
int folder_trees_new(struct folder_trees **out, struct folder_listing *listing,
		     const struct folder_top *tops, uint64_t count);
/* The next of `count` trees, valid until this is called again. Blocks. */
struct folder_tree *folder_trees_next(struct folder_trees *trees);
void folder_trees_free(struct folder_trees *trees); /* waits for what is being listed; or NULL */

#endif
