/* SPDX-License-Identifier: MIT */
/*
 * Read-ahead of a pass over shards: threads that walk the next shards as the pass does, many at a
 * time, and keep the bytes that they read. So the pass, which goes from shard to shard, does not
 * wait for a server at each header. It makes all results and errors itself, and reads itself what a
 * thread could not read or had no room for.
 *
 * Owns its threads and records; these are charged to the account of the opening, in one sum.
 */
#ifndef STOKER_DATASET_SHARDS_SHARD_READAHEAD_H
#define STOKER_DATASET_SHARDS_SHARD_READAHEAD_H

#include "dataset/shards/shard_pass.h"

struct shard_readahead;

/* NULL: there are none, since the storage is near, or threads or memory are short. */
struct shard_readahead *shard_readahead_new(const struct shard_pass *pass);
/* Wait for the record of a shard, which stays until the next call; NULL: nothing was read. The pass
 * asks for each shard in its order. */
struct shard_record *shard_readahead_wait(struct shard_readahead *ahead, uint64_t shard);
void shard_readahead_free(struct shard_readahead *ahead); /* requests under way are waited for */

#endif
