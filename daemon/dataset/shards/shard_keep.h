/* SPDX-License-Identifier: MIT */
/*
 * Indexes of shards kept on the disk (keep_file.h). One is used only if every shard still has the
 * version (size, mtime, ctime, inode) that was indexed. Blocks; any thread.
 */
#ifndef STOKER_DATASET_SHARDS_SHARD_KEEP_H
#define STOKER_DATASET_SHARDS_SHARD_KEEP_H

#include "dataset/dataset.h"
#include "dataset/shards/shard_index.h"
#include "dataset/shards/shard_names.h"
#include "storage/keep_file.h"

enum {
	SHARD_KEEP_E_NONE = 1, /* there is no index that can be used */
};

/* File that the index of these shards, read as the description says, is kept in. */
struct keep_file shard_keep_of(const struct dataset_progress *progress, const char *kind,
			       const struct shard_names *names, const struct dataset_spec *spec);
/* 0, SHARD_KEEP_E_NONE or -ENOMEM. */
int shard_keep_load(const struct keep_file *keep, const struct storage_folder *folder,
		    const struct shard_names *names, struct shard_index **out,
		    uint64_t *skipped_out);
/* Keep the index. True: it is there now. */
bool shard_keep_save(const struct keep_file *keep, const struct shard_index *index,
		     uint64_t skipped);

#endif
