/* SPDX-License-Identifier: MIT */
/*
 * The pass over tar shards that makes their index: walks the headers of each, puts neighbouring
 * members with the same key together as one sample, as WebDataset does, and reads what the roles
 * ask for (labels, fields), never a picture. Blocks on storage; one thread.
 */
#ifndef STOKER_DATASET_SHARDS_TAR_PASS_H
#define STOKER_DATASET_SHARDS_TAR_PASS_H

#include "dataset/shards/shard_pass.h"

/* The pass() of a shard_form. */
int tar_pass(struct shard_pass *shards, struct fault *fault);

#endif
