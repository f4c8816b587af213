/* SPDX-License-Identifier: MIT */
/*
 * A packed shard, unpacked: pieces that a stage keeps, under the shard's version, and the unpacking
 * that puts them there. All of them are kept once it has been opened; later any may be gone. Memory
 * is a chunk of packed bytes, a piece and what the packing takes. Any thread. Blocks. Knows no tar,
 * and charges nobody.
 */
#ifndef STOKER_DATASET_SHARDS_UNPACKED_H
#define STOKER_DATASET_SHARDS_UNPACKED_H

#include <stdatomic.h>

#include "dataset/dataset.h"
#include "stage/stage.h"
#include "storage/packing.h"
#include "storage/storage.h"

/* Facts that all shards of a dataset have in common. */
struct unpacked_home {
	char *root;		     /* owned; as the user names it, which says nothing, ... */
	uint64_t id[2];		     /* ... and which folder that is */
	struct storage_folder inner; /* owned; where the packed ones lie */
	struct stage_set *set;	     /* owned */
};

struct unpacked {
	const struct unpacked_home *home;
	const char *name;		/* borrowed */
	struct storage_version version; /* of the packed file */
	const struct packing *packing;
	uint64_t size; /* unpacked */
};

/* Memory of one unpacking. */
uint64_t unpacked_memory(const struct unpacked *shard);
/* Item that says that all pieces are kept; who unpacks the shard holds its fetch. 0 or -ENOMEM. */
int unpacked_item(const struct unpacked *shard, struct stage_item *out);

/* Is all of it kept? Then its size is known. */
bool unpacked_is_kept(struct unpacked *shard);
/* Unpack it, and keep all of it. 0, DATASET_E_OPEN, DATASET_E_CANCELLED or -ENOMEM, after which
 * nothing of it is kept. */
int unpacked_make(struct unpacked *shard, const atomic_bool *cancel, struct fault *fault);
void unpacked_forget(const struct unpacked *shard);

/* A range from what is kept; false: something of it is not there. */
bool unpacked_read(const struct unpacked *shard, const struct stage_use *use,
		   struct storage_range range, uint8_t *to);
/* A range, by unpacking all of it again; what there is room for is kept. 0, STORAGE_E_READ or
 * -ENOMEM. */
int unpacked_read_again(const struct unpacked *shard, const struct stage_use *use,
			struct storage_range range, uint8_t *to, struct fault *fault);

#endif
