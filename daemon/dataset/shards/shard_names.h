/* SPDX-License-Identifier: MIT */
/*
 * Names of the shards that a description means: a path; braces, {000000..000146} or {a,b}, as in a
 * shell; * ? and [...] in the last part of a path; or a list of shards as wids writes it (.json).
 * Lists a folder, or reads the list, and opens no shard. One thread.
 */
#ifndef STOKER_DATASET_SHARDS_SHARD_NAMES_H
#define STOKER_DATASET_SHARDS_SHARD_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "storage/storage.h"

struct shard_names {
	char *root;   /* owned: the folder that all names are relative to */
	char **names; /* owned, and each of them: in the order of the samples */
	uint64_t count, capacity;
};
#define SHARD_NAMES_NULL ((struct shard_names){0})

/* Does the path mean several shards? */
bool shard_names_is_pattern(const char *path);
/* Is it named like a shard, a packed one too, or a list of shards? */
bool shard_names_suits(const char *path);

/* The folder of a path, which opening needs. 0 or -ENOMEM. */
int shard_names_root(struct shard_names *names, const char *path);
/* Fill in the names of the shards in the opened folder names->root. 0, DATASET_E_ARGUMENT,
 * DATASET_E_OPEN or -ENOMEM. */
int shard_names_find(struct shard_names *names, const struct storage_folder *folder,
		     const char *path, struct fault *fault);
/* A mark of which they are; and, of a folder opened by the same path later: are they the same? */
uint64_t shard_names_mark(const struct shard_names *names);
bool shard_names_hold(const struct storage_folder *folder, const char *path, uint64_t mark);
void shard_names_deinit(struct shard_names *names);

#endif
