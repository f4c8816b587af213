/* SPDX-License-Identifier: MIT */
/*
 * A guide to a tar shard on a server: the index that DALI's wds2idx wrote beside it (NAME.idx
 * beside NAME.tar; v1.0 to v1.2). It says where contents lie, so that the headers between them, for
 * which a walk waits one after the other, are fetched many at a time. It is believed in nothing:
 * the bytes go into a record (shard_record.h) from which the walk reads, and what is not there the
 * walk reads itself. So a wrong guide costs time, and the index of the shard is the same with it
 * and without.
 */
#ifndef STOKER_DATASET_SHARDS_SHARD_GUIDE_H
#define STOKER_DATASET_SHARDS_SHARD_GUIDE_H

#include "dataset/shards/roles.h"
#include "dataset/shards/shard_reader.h"

enum {
	SHARD_GUIDE_E_BAD = 1, /* it is no index, or not of this shard */
};

/* Bytes that a walk wants: in the order of the shard, none twice. */
struct shard_guide_range {
	uint64_t offset;
	size_t size;
	size_t header;	  /* where in them a header is ... */
	uint64_t content; /* ... and the size of the content behind it; UINT64_MAX: not known */
};

#define SHARD_GUIDE_BYTES ((uint64_t)3 << 20) /* what reading one takes at most */

struct shard_guide {
	struct shard_guide_range *ranges;
	uint64_t count, capacity;
};
#define SHARD_GUIDE_NULL ((struct shard_guide){.ranges = NULL})

/* The text of an index, of a shard of so many bytes. 0, SHARD_GUIDE_E_BAD or -ENOMEM. */
int shard_guide_parse(struct shard_guide *out, const char *text, size_t size, uint64_t shard_size,
		      const struct roles *roles);
/* The one beside the shard that is open in the reader. The same, and none there is bad. */
int shard_guide_read(struct shard_guide *out, const struct shard_reader *shard,
		     const struct roles *roles);
void shard_guide_deinit(struct shard_guide *guide);

/* Fetch all that it names, by so many threads, into the record, which is empty and asked for room.
 * False: it is not of this shard, something could not be read, or there is no room. Blocks. */
bool shard_guide_follow(const struct shard_guide *guide, const struct shard_reader *shard,
			unsigned threads, struct shard_record *record);

#endif
