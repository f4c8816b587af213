// SPDX-License-Identifier: MIT
#include "dataset/shards/shard_record.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define PASSED_MAX 64 /* notes that whoever reads again has no use for */

bool shard_record_begin(struct shard_record *record, const struct storage_version *version)
{
	record->closed = record->closed || !record->may(record->context, 0);
	record->begun = !record->closed;
	record->version = *version;
	return record->begun;
}

bool shard_record_take(struct shard_record *record, uint64_t offset, const uint8_t *data,
		       size_t size)
{
	record->closed = record->closed ||
			 !record->may(record->context, size + sizeof(*record->notes)) ||
			 ARRAY_RESERVE(record->notes, record->capacity, record->count + 1) ||
			 ARRAY_RESERVE(record->data, record->data_capacity, record->size + size);
	if (record->closed)
		return false;
	record->notes[record->count++] = (struct shard_note){offset, record->size, size};
	memcpy(record->data + record->size, data, size);
	record->size += size;
	return true;
}

bool shard_record_append(struct shard_record *record, const struct shard_record *other)
{
	if (ARRAY_RESERVE(record->notes, record->capacity, record->count + other->count) ||
	    ARRAY_RESERVE(record->data, record->data_capacity, record->size + other->size))
		return false;
	for (uint64_t i = 0; i < other->count; i++) {
		const struct shard_note *note = &other->notes[i];
		record->notes[record->count++] =
			(struct shard_note){note->offset, record->size + note->at, note->size};
	}
	if (other->size)
		memcpy(record->data + record->size, other->data, other->size);
	record->size += other->size;
	return true;
}

void shard_record_fail(struct shard_record *record, uint64_t offset, int result,
		       const struct fault *fault)
{
	if (record->closed || result <= 0)
		return;
	record->closed = true;
	record->failed = result;
	record->failed_offset = offset;
	record->fault = *fault;
}

static bool give_failure(const struct shard_record *record, uint64_t offset, int *result_out,
			 struct fault *fault)
{
	if (!record->failed || record->failed_offset != offset)
		return false;
	*result_out = record->failed;
	*fault = record->fault;
	return true;
}

bool shard_record_version(const struct shard_record *record, struct storage_version *out,
			  int *result_out, struct fault *fault)
{
	if (!record->begun)
		return give_failure(record, 0, result_out, fault);
	*out = record->version;
	*result_out = 0;
	return true;
}

bool shard_record_give(struct shard_record *record, uint64_t offset, size_t size,
		       const uint8_t **out, int *result_out, struct fault *fault)
{
	for (uint64_t i = record->next; i < record->count && i < record->next + PASSED_MAX; i++) {
		const struct shard_note *note = &record->notes[i];
		if (offset < note->offset || offset + size > note->offset + note->size)
			continue;
		record->next = i; /* it may have the next bytes, too */
		*out = record->data + note->at + (offset - note->offset);
		*result_out = 0;
		return true;
	}
	return record->begun && give_failure(record, offset, result_out, fault);
}

void shard_record_deinit(struct shard_record *record)
{
	free(record->notes);
	free(record->data);
	record->notes = NULL;
	record->data = NULL;
}
