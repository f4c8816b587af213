/* SPDX-License-Identifier: MIT */
#include "client/c/replay/copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT 64 /* of the first array of a field */

/* The fields as this batch has them, one behind the other; returns the bytes of all. */
static uint64_t place_fields(struct ring *ring, const struct batch *batch)
{
	uint64_t bytes = 0;
	for (uint32_t f = 0; f < ring->n_fields; f++) {
		struct ring_field *field = &ring->fields[f];
		*field = ring_field_of(&batch->ring->fields[f], &batch->size);
		field->sized = false; /* its shape is that of all samples here */
		field->offset = bytes;
		bytes += field->stride * ring->slots;
		bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	}
	return bytes;
}

static void copy_fields(uint8_t *to, const struct ring *ring, const struct batch *batch)
{
	for (uint32_t f = 0; f < ring->n_fields; f++) {
		const struct ring_field *field = &ring->fields[f];
		uint8_t *at = to + field->offset;
		for (uint32_t run = 0; run < batch->batch.n_runs; run++) {
			size_t bytes = (size_t)(batch->batch.run[run].count * field->stride);
			memcpy(at, batch_field(batch, run, field->name), bytes);
			at += bytes;
		}
	}
}

/* A ring of the samples of a batch alone. */
static int copy_ring(struct ring **out, const struct batch *batch)
{
	struct ring *ring = malloc(sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	*ring = *batch->ring;
	ring->uses = 1;
	ring->slots = batch->batch.count;
	ring->fields = calloc(ring->n_fields, sizeof(*ring->fields));
	ring->bytes = ring->fields ? place_fields(ring, batch) : 0;
	void *data = MAP_FAILED;
	if (ring->fields)
		data = mmap(NULL, (size_t)ring->bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (data == MAP_FAILED) {
		free(ring->fields);
		free(ring);
		return -ENOMEM;
	}
	copy_fields(data, ring, batch);
	(void)mprotect(data, (size_t)ring->bytes, PROT_READ); /* as any batch is */
	ring->data = data;
	*out = ring;
	return 0;
}

int copy_batch(struct batch **out, const struct batch *batch)
{
	const struct ring_size none = {0};
	struct ring *ring;
	struct batch *copy = calloc(1, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	int r = copy_ring(&ring, batch);
	if (r) {
		free(copy);
		return r;
	}
	copy->batch = batch->batch;
	copy->ring = ring;
	copy->batch.n_runs = 1;
	copy->batch.run[0] = (struct stoker_run){
		.count = batch->batch.count,
		.images = ring_slot(ring, "image", &none, 0),
		.labels = ring_slot(ring, "label", &none, 0),
		.indexes = ring_slot(ring, "index", &none, 0),
	};
	*out = copy;
	return 0;
}
