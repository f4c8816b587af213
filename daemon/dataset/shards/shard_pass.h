/* SPDX-License-Identifier: MIT */
/*
 * The pass over tar shards that makes their index: walks the headers of each, puts neighbouring
 * members with the same key together as one sample, as WebDataset does, and reads what the roles
 * ask for (labels, fields), never a picture. What cannot be used is one error that names the shard.
 * Blocks on storage; one thread.
 */
#ifndef STOKER_DATASET_SHARDS_SHARD_PASS_H
#define STOKER_DATASET_SHARDS_SHARD_PASS_H

#include "dataset/shards/roles.h"
#include "dataset/shards/shard_index.h"
#include "dataset/shards/shard_names.h"

/* Add all samples to a new index. `skipped_out`: those that were left out for a missing component.
 * 0, DATASET_E_OPEN, DATASET_E_CANCELLED or -ENOMEM. */
int shard_pass(struct shard_index *index, const struct shard_names *names,
	       const struct storage_folder *folder, const struct roles *roles,
	       struct dataset_progress *progress, uint64_t *skipped_out, struct fault *fault);

#endif
