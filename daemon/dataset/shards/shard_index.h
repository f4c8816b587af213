/* SPDX-License-Identifier: MIT */
/*
 * The index of shards: which shard each sample's picture lies in and at which bytes, its key, label
 * and fields; some 19 bytes a sample. Built on one thread (begin_shard, add..., end_shard,
 * finish), then immutable, any thread. Reads no file.
 *
 * The fingerprint is that of dataset/index.h, with KEY.ENDING (KEY, if it has no ending) as the
 * path and the picture's bytes as the size, and behind the samples of each shard: 6, how many these
 * are. The names and the number of bytes of shards are not in it.
 */
#ifndef STOKER_DATASET_SHARDS_SHARD_INDEX_H
#define STOKER_DATASET_SHARDS_SHARD_INDEX_H

#include "base/digest.h"
#include "dataset/class_names.h"
#include "dataset/column.h"
#include "dataset/labels.h"
#include "dataset/number_list.h"
#include "dataset/shards/key_list.h"
#include "storage/storage.h"

#define SHARDS_MAX ((uint64_t)1 << 20)

struct shard {
	char *name; /* owned: its key in the storage's folder */
	struct storage_version version;
	uint64_t first; /* its first sample */
};

#define SHARD_MEMBER_END_MAX ((uint64_t)1 << 40)

struct shard_index {
	struct shard *shards;
	uint64_t shard_count, shard_capacity;
	struct number_list offsets, sizes; /* of what is read for each sample, in its shard */
	uint64_t count;
	struct key_list keys;
	struct labels labels;	  /* none: all labels are 0 */
	struct class_names names; /* of labels that are classes */
	uint32_t *classes;	  /* the numbers of names in the order of classes */
	struct columns columns;
	struct digest fingerprint;
	struct digest_state *digest; /* while it is built */
};

/* A sample to add; all is borrowed. */
struct shard_sample {
	const char *key, *ending;
	size_t key_size, ending_size;
	uint64_t offset, size; /* of what is read */
	uint64_t picture_size;
	const struct label *labels; /* numbers */
	uint32_t label_count;	    /* 0: it has none, or the name of a class */
	const char *class;	    /* NULL: it has none */
	size_t class_size;
	const struct cell *cells;
	unsigned cell_count;
};

enum {
	SHARD_INDEX_E_BAD = 1, /* what does not go into an index; the words say why */
};

int shard_index_new(struct shard_index **out, const char *kind); /* 0 or -ENOMEM */
void shard_index_free(struct shard_index *index);

/* 0, SHARD_INDEX_E_BAD or -ENOMEM. */
int shard_index_begin_shard(struct shard_index *index, const char *name,
			    const struct storage_version *version, struct fault *fault);
int shard_index_add(struct shard_index *index, const struct shard_sample *sample,
		    struct fault *fault);
void shard_index_end_shard(struct shard_index *index);
/* `classes`: labels are numbers of so many classes, which are called by their numbers; 0: they are
 * not, or have names. 0 or -ENOMEM. */
int shard_index_finish(struct shard_index *index, uint32_t classes);

size_t shard_index_bytes(const struct shard_index *index);
const struct shard *shard_index_of(const struct shard_index *index, uint64_t sample);
/* SHARD/KEY.ENDING, cut to `size`, terminated; returns the whole length. */
size_t shard_index_path(const struct shard_index *index, uint64_t sample, char *out, size_t size);

#endif
