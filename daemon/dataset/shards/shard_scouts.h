/* SPDX-License-Identifier: MIT */
/*
 * Scouts of a pass over shards: threads that walk the next shards in the same way, many at a time,
 * and keep what they read, so that the pass, which goes from shard to shard, does not wait for a
 * server at each header. All that the pass finds and says is its own: what a scout could not read
 * or was not allowed to keep, it reads itself.
 *
 * Owns its threads and records; these are charged to the account of the opening, in one sum.
 */
#ifndef STOKER_DATASET_SHARDS_SHARD_SCOUTS_H
#define STOKER_DATASET_SHARDS_SHARD_SCOUTS_H

#include "dataset/shards/shard_pass.h"

struct shard_scouts;

/* NULL: there are none, since the storage is near, or threads or memory are short. */
struct shard_scouts *shard_scouts_new(const struct shard_pass *pass);
/* What was read of the shard, once it is there, until the next call; NULL: nothing. The pass asks
 * for each shard in its order. */
struct shard_record *shard_scouts_wait(struct shard_scouts *scouts, uint64_t shard);
void shard_scouts_free(struct shard_scouts *scouts); /* requests under way are waited for */

#endif
