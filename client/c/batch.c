/* SPDX-License-Identifier: MIT */
#include "client/c/batch.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

_Static_assert(STOKER_RUNS_MAX == PROTO_RUNS_MAX, "all runs of a message fit");
_Static_assert(STOKER_SHAPE_MAX == SEGMENT_DIMS_MAX, "all dimensions of a field fit");
_Static_assert(STOKER_NAME_MAX == SEGMENT_NAME_MAX, "all names of fields fit");

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
	if (!runs_fit(message, ring, most))
		return BATCH_E_RUNS;
	struct batch *batch = calloc(1, sizeof(*batch));
	if (!batch)
		return -ENOMEM;
	batch->ring = ring_use(ring);
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
	};
	for (uint32_t i = 0; i < message->runs.n; i++) {
		const struct run *run = &message->runs.run[i];
		batch->slot[i] = run->slot;
		batch->batch.run[i] = (struct stoker_run){
			.count = run->count,
			.images = ring_slot(ring, "image", run->slot),
			.labels = ring_slot(ring, "label", run->slot),
			.indexes = ring_slot(ring, "index", run->slot),
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
	return run < batch->batch.n_runs ? ring_slot(batch->ring, name, batch->slot[run]) : NULL;
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
	for (uint32_t i = 0; i < field->dims; i++)
		shape_out[i] = field->shape[i];
	return ring_slot(batch->ring, name, slot);
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
