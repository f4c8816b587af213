/* SPDX-License-Identifier: MIT */
/*
 * Indexes of shards kept on the disk, in the daemon's own folder beside the seek indexes, so
 * that the same description opens again without a walk. A file is named by the description and its
 * owner (base/owner.h), whose own or that of all is read; it is used only if every shard still has
 * the version (size, mtime, ctime, inode) that was indexed. Keeping is not needed for anything:
 * what goes wrong is passed over, and the shards are walked again.
 *
 * The folder belongs to the daemon's user alone (index_store.h checks it), so a checksum is enough:
 * it tells a file that was cut. Blocks; any thread. Knows no budget: the index store trims.
 */
#ifndef STOKER_DATASET_SHARDS_SHARD_KEEP_H
#define STOKER_DATASET_SHARDS_SHARD_KEEP_H

#include "dataset/dataset.h"
#include "dataset/shards/shard_index.h"
#include "dataset/shards/shard_names.h"

enum {
	SHARD_KEEP_E_NONE = 1, /* there is no index that can be used */
};

struct shard_keep {
	const char *folder; /* borrowed; NULL: nothing is kept */
	uint32_t owner;
	struct digest name;
};

/* File that the index of these shards, read as the description says, is kept in. */
struct shard_keep shard_keep_of(const struct dataset_progress *progress, const char *kind,
				const struct shard_names *names, const struct dataset_spec *spec);
/* 0, SHARD_KEEP_E_NONE or -ENOMEM. */
int shard_keep_load(const struct shard_keep *keep, const struct storage_folder *folder,
		    const struct shard_names *names, struct shard_index **out,
		    uint64_t *skipped_out);
/* Keep the index. True: it is there now. */
bool shard_keep_save(const struct shard_keep *keep, const struct shard_index *index,
		     uint64_t skipped);

#endif
