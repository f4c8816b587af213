/* SPDX-License-Identifier: MIT */
/*
 * A tree: the pictures in a folder and below it, as a listing finds them. Trees of one opening are
 * listed by several threads, one thread a tree; what they share is a folder_listing.
 */
#ifndef STOKER_DATASET_FOLDER_TREE_H
#define STOKER_DATASET_FOLDER_TREE_H

#include <pthread.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/quote.h"
#include "dataset/ending.h"
#include "dataset/folders/folder_keep.h"
#include "dataset/progress.h"
#include "dataset/sources.h"
#include "storage/storage.h"

#define PIECE 32 /* bytes that malloc() takes for a small piece, about */

/* State of all trees of an opening. */
struct folder_listing {
	const struct storage_folder *root;
	struct dataset_progress *progress;
	struct folder_keep *keep; /* NULL: nothing is known of its folders, nor kept */
	int64_t since_ns;	  /* when the dataset was opened: storage_moment_ns() */
	pthread_mutex_t lock;	  /* of what follows, and of what progress charges */
	uint64_t held;		  /* bytes of trees, and of what else is listed */
	uint64_t indexed;	  /* bytes of the index */
};

/* So many bytes more, or fewer, are held; the index has `indexed`. They are charged. 0 or
 * DATASET_E_OPEN. Any thread. */
int folder_listing_hold(struct folder_listing *listing, int64_t bytes, struct fault *fault);
int folder_listing_indexed(struct folder_listing *listing, uint64_t bytes, struct fault *fault);

struct folder_file {
	uint64_t name; /* in the node's names */
	uint64_t bytes;
	uint32_t glance;
};

/* A folder of the tree. */
struct folder_node {
	char *path; /* owned; relative to the root */
	size_t path_size;
	uint64_t id[2];
	const struct folder_node *parent; /* NULL: the tree's own folder */
	char *names;			  /* owned: each terminated */
	uint64_t names_size, names_capacity;
	struct folder_file *files; /* sorted by name, once it is listed */
	uint64_t file_count, file_capacity;
};

/* Entries that were lost: that cannot be read, and the paths of the first ones. */
#define LOST_MAX 3
struct folder_lost {
	uint64_t count;
	struct quote paths[LOST_MAX];
};
void folder_lose(struct folder_lost *lost, const char *path);

struct folder_tree {
	struct folder_listing *listing;
	struct folder_node **nodes; /* sorted by path, once all are listed; children point at */
	uint64_t node_count, node_capacity; /* their parents */
	struct folder_node *listed;	    /* now */
	int result;			    /* the error that ended it, and its words */
	struct fault fault;
	uint64_t skipped;
	bool linked;  /* one of its pictures is behind a link */
	bool unsized; /* one of them was not looked at */
	bool later;   /* one of them was changed since the dataset was opened */
	struct folder_lost lost;
	struct endings endings;
	struct sources sources;	 /* its folders */
	int64_t held, uncharged; /* bytes; and those of them that are not charged yet */
	uint64_t uncounted;	 /* pictures that the listing's count lacks */
};

/* List the folder `top`, which has this id, and what lies below it. The tree is valid even if its
 * result is an error, which it gives as well; the words have paths relative to the root. Blocks. */
int folder_tree_list(struct folder_tree *out, struct folder_listing *listing, const char *top,
		     const uint64_t id[2]);
void folder_tree_deinit(struct folder_tree *tree);

/* Hand the entries of a folder to the taker, once its version is noted. 0, a condition, or -ENOMEM.
 */
int folder_list(struct folder_listing *listing, const char *path, struct sources *sources,
		const struct storage_taker *taker, struct fault *fault);
int folder_check_cancel(const struct folder_listing *listing, struct fault *fault);
/* A link that leads out: DATASET_E_OPEN and its words. */
int folder_refuse_link(const char *path, struct fault *fault);

#endif
