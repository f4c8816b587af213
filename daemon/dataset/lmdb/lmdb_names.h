/* SPDX-License-Identifier: MIT */
/*
 * Names of the file of an LMDB database: data.mdb in a folder, or a file that ends in .mdb or
 * .lmdb. Any thread.
 */
#ifndef STOKER_DATASET_LMDB_LMDB_NAMES_H
#define STOKER_DATASET_LMDB_LMDB_NAMES_H

#include "dataset/dataset.h"
#include "dataset/shards/shard_names.h"

/* The names() of a shard_form. Blocks. 0 or -ENOMEM. */
int lmdb_names(struct shard_names *names, const struct dataset_spec *spec);

#endif
