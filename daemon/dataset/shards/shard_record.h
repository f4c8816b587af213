/* SPDX-License-Identifier: MIT */
/*
 * A record of what somebody read of a shard, in its order: the version, and the bytes of each read
 * or how one failed. Who reads the same again is given it from here. One thread at a time. Knows no
 * storage.
 */
#ifndef STOKER_DATASET_SHARDS_SHARD_RECORD_H
#define STOKER_DATASET_SHARDS_SHARD_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/storage.h"

/* May the record take so many bytes more? False ends it. */
typedef bool shard_record_may(void *context, uint64_t bytes);

struct shard_record {
	shard_record_may *may;
	void *context;

	bool begun;  /* the version is known */
	bool closed; /* it takes nothing more: it may not, or a read failed */
	bool whole;  /* the walk came to its end, and the shard was the same then */
	struct storage_version version;
	struct shard_note {
		uint64_t offset, at; /* of the bytes: in the shard, in `data` */
		size_t size;
	} * notes;
	uint64_t count, capacity;
	uint8_t *data;
	uint64_t size, data_capacity;
	int failed; /* the read that failed, or the look at the version; 0: none did */
	uint64_t failed_offset;
	struct fault fault;

	uint64_t next; /* the note that whoever reads again comes to */
};

/* Begin with the version that is read. False: the record is closed, and its writer shall end. */
bool shard_record_begin(struct shard_record *record, const struct storage_version *version);
bool shard_record_take(struct shard_record *record, uint64_t offset, const uint8_t *data,
		       size_t size);
void shard_record_fail(struct shard_record *record, uint64_t offset, int result,
		       const struct fault *fault);

/* Append the bytes of another record; room for them was asked for. False: no memory. */
bool shard_record_append(struct shard_record *record, const struct shard_record *other);

/* Read it again, or most of it: the same results. False if it is not known. */
bool shard_record_version(const struct shard_record *record, struct storage_version *out,
			  int *result_out, struct fault *fault);
bool shard_record_give(struct shard_record *record, uint64_t offset, size_t size,
		       const uint8_t **out, int *result_out, struct fault *fault);

void shard_record_deinit(struct shard_record *record);

#endif
