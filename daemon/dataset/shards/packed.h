/* SPDX-License-Identifier: MIT */
/*
 * Packed tars (.tar.gz, .tgz, .tar.zst, .tar.bz2, .tar.xz, .txz, .tar.lz4) as if they were
 * unpacked. Opening unpacks each once, in pieces that stage/stage.h keeps on the disk, by the
 * shard's version; a later opening, also by another daemon, finds them there. A piece that is gone
 * is got by unpacking again. Of a shard that cannot be unpacked nothing stays. Who opens reads each
 * shard's first bytes, so may read the rest. What is unpacked is bounded by what the stage gives
 * room to, and memory by unpacking one shard at a time. Any number of threads read; opening is one
 * thread's. Blocks. Knows no tar.
 */
#ifndef STOKER_DATASET_SHARDS_PACKED_H
#define STOKER_DATASET_SHARDS_PACKED_H

#include <stddef.h>

#include "dataset/progress.h"
#include "dataset/shards/shard_names.h"

/* Is it named like one? */
bool packed_is_named(const char *name);

/* If there is a stage, and a packed shard, *folder becomes one that has them unpacked, and closes
 * the other; *memory_out is what it may hold until then. 0, DATASET_E_OPEN, DATASET_E_CANCELLED or
 * -ENOMEM. */
int packed_open(struct storage_folder *folder, const struct shard_names *names,
		struct dataset_progress *progress, size_t *memory_out, struct fault *fault);
/* Nobody has a use for what such a folder has unpacked: it goes. Others are left as they are. */
void packed_forget(const struct storage_folder *folder);

#endif
