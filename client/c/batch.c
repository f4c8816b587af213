/* SPDX-License-Identifier: MIT */
#include "client/c/batch.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(STOKER_RUNS_MAX == PROTO_RUNS_MAX, "all runs of a message fit");
_Static_assert(STOKER_SHAPE_MAX == SEGMENT_DIMS_MAX, "all dimensions of a field fit");
_Static_assert(STOKER_NAME_MAX == SEGMENT_NAME_MAX, "all names of fields fit");

struct stoker_array batch_array_of(const struct ring_field *field)
{
	struct stoker_array out = {.dtype = field->dtype,
				   .item = field->item,
				   .ragged = field->ragged,
				   .dims = field->dims,
				   .bytes = (size_t)field->stride};
	memcpy(out.name, field->name, sizeof(out.name));
	memcpy(out.shape, field->shape, sizeof(out.shape));
	return out;
}

static struct ring_size size_of(const struct message_batch *message, const struct ring *ring)
{
	if (!ring_is_sized(ring))
		return (struct ring_size){0};
	return (struct ring_size){message->height, message->width, message->origin};
}

/* A batch of a size of its own is one run. */
static bool size_fits(const struct message_batch *message, const struct ring *ring)
{
	const struct ring_size size = size_of(message, ring);
	return !ring_is_sized(ring) ||
	       (message->runs.n == 1 && ring_has_size(ring, &size, message->runs.run[0].slot));
}

static bool runs_fit(const struct message_batch *message, const struct ring *ring, uint64_t most)
{
	uint64_t count = 0;
	for (uint32_t i = 0; i < message->runs.n; i++) {
		const struct run *run = &message->runs.run[i];
		if (run->slot >= ring->slots || run->count > ring->slots - run->slot)
			return false;
		count += run->count;
	}
	return count == message->count && count <= most && message->padded <= count &&
	       message->substituted <= count && message->wrapped <= count;
}

int batch_new(struct batch **out, const struct message_batch *message, struct ring *ring,
	      uint64_t most, uint64_t attachment)
{
	if (!runs_fit(message, ring, most) || !size_fits(message, ring))
		return BATCH_E_RUNS;
	struct batch *batch = calloc(1, sizeof(*batch));
	if (!batch)
		return -ENOMEM;
	batch->ring = ring_use(ring);
	batch->size = size_of(message, ring);
	batch->lease = message->lease;
	batch->attachment = attachment;
	batch->batch = (struct stoker_batch){
		.epoch = message->epoch,
		.position = message->position,
		.count = (uint32_t)message->count,
		.padded = (uint32_t)message->padded,
		.substituted = (uint32_t)message->substituted,
		.n_runs = message->runs.n,
		.next_epoch = message->next_epoch,
		.next_position = message->next_position,
		.ready_ns = message->ready_ns,
		.wrapped = (uint32_t)message->wrapped,
		.height = (uint32_t)batch->size.height,
		.width = (uint32_t)batch->size.width,
	};
	for (uint32_t i = 0; i < message->runs.n; i++) {
		const struct run *run = &message->runs.run[i];
		batch->slot[i] = run->slot;
		batch->batch.run[i] = (struct stoker_run){
			.count = run->count,
			.images = ring_slot(ring, "image", &batch->size, run->slot),
			.labels = ring_slot(ring, "label", &batch->size, run->slot),
			.indexes = ring_slot(ring, "index", &batch->size, run->slot),
		};
	}
	*out = batch;
	return 0;
}

uint64_t batch_count(const struct batch *first, uint64_t attachment)
{
	uint64_t count = 0;
	for (const struct batch *batch = first; batch; batch = batch->next)
		count += batch->attachment == attachment;
	return count;
}

const void *batch_field(const struct batch *batch, uint32_t run, const char *name)
{
	if (run >= batch->batch.n_runs)
		return NULL;
	return ring_slot(batch->ring, name, &batch->size, batch->slot[run]);
}

const void *batch_item(const struct batch *batch, uint32_t sample, const char *name,
		       uint64_t shape_out[STOKER_SHAPE_MAX])
{
	const struct ring_field *field = ring_find(batch->ring, name);
	uint32_t run = 0;
	while (run < batch->batch.n_runs && sample >= batch->batch.run[run].count)
		sample -= batch->batch.run[run++].count;
	if (!field || run == batch->batch.n_runs)
		return NULL;
	const uint32_t slot = batch->slot[run] + sample;
	if (field->ragged)
		return ring_ragged(batch->ring, field, slot, shape_out);
	const struct ring_field own = ring_field_of(field, &batch->size);
	for (uint32_t i = 0; i < own.dims; i++)
		shape_out[i] = own.shape[i];
	return batch->ring->data + own.offset + slot * own.stride;
}

int batch_array(const struct batch *batch, const char *name, struct stoker_array *array_out)
{
	const struct ring_field *field = ring_find(batch->ring, name);
	if (!field)
		return -ENOENT;
	const struct ring_field own = ring_field_of(field, &batch->size);
	*array_out = batch_array_of(&own);
	return 0;
}

void batch_free(struct batch *batch)
{
	if (!batch)
		return;
	ring_drop(batch->ring);
	free(batch);
}

void batch_free_all(struct batch *first)
{
	while (first) {
		struct batch *batch = first;
		first = batch->next;
		batch_free(batch);
	}
}

const void *stoker_field(const struct stoker_batch *batch, uint32_t run, const char *name)
{
	return batch && name ? batch_field((const struct batch *)batch, run, name) : NULL;
}

const void *stoker_item(const struct stoker_batch *batch, uint32_t sample, const char *name,
			uint64_t shape_out[STOKER_SHAPE_MAX])
{
	return batch && name && shape_out
		       ? batch_item((const struct batch *)batch, sample, name, shape_out)
		       : NULL;
}

int stoker_batch_array(const struct stoker_batch *batch, const char *name,
		       struct stoker_array *array_out)
{
	return batch && name ? batch_array((const struct batch *)batch, name, array_out) : -ENOENT;
}
