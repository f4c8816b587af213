/* SPDX-License-Identifier: MIT */
/*
 * The bytes of one shard for the walk over its headers (tar_walk.h): a window that moves over a
 * file in a storage, all of it of one version. What it reads can be noted in a record, and what a
 * record has is not read (shard_readahead.h). Owns the window. Blocks; one thread.
 */
#ifndef STOKER_DATASET_SHARDS_SHARD_READER_H
#define STOKER_DATASET_SHARDS_SHARD_READER_H

#include "dataset/shards/shard_record.h"
#include "dataset/shards/tar_walk.h"
#include "storage/storage.h"

struct shard_reader {
	const struct storage_folder *folder;
	const char *name;
	struct storage_version version;
	struct buffer window;
	uint64_t at;		   /* of the window */
	uint64_t used;		   /* where what was asked for last ends */
	bool dense;		   /* members are so small that a window takes several */
	struct shard_record *into; /* borrowed, as the next; or NULL */
	struct shard_record *from;
};
#define SHARD_READER_NULL ((struct shard_reader){0})

/* Look at a shard. 0, TAR_E_BAD with words, or -ENOMEM. */
int shard_reader_begin(struct shard_reader *reader, const struct storage_folder *folder,
		       const char *name, struct fault *fault);
/* A tar_fetch; `context` is the reader. */
int shard_reader_fetch(void *context, uint64_t offset, size_t size, const uint8_t **out,
		       struct fault *fault);
/* Is the shard still what it was when it was begun? 0 or TAR_E_BAD. */
int shard_reader_end(const struct shard_reader *reader, struct fault *fault);
/* NULL, or what the shard is packed with, by its first bytes. */
const char *shard_reader_packing(struct shard_reader *reader);
/* Is it a web page, by its first bytes? */
bool shard_reader_is_page(struct shard_reader *reader);
void shard_reader_deinit(struct shard_reader *reader);

#endif
