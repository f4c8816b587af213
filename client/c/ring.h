/* SPDX-License-Identifier: MIT */
/*
 * A ring's shared memory, mapped read-only, with its header page checked against the size of the
 * file and its own bounds (layout: proto/segment.h). Counted: the attachment and each held batch
 * keep it mapped, whatever becomes of the connection. Immutable once mapped. Knows no message.
 */
#ifndef STOKER_CLIENT_RING_H
#define STOKER_CLIENT_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/c/fault.h"
#include "proto/segment.h"

struct ring_field {
	char name[16];	   /* terminated */
	const char *dtype; /* a literal */
	uint32_t dims, shape[SEGMENT_DIMS_MAX];
	uint64_t stride, offset;
};

struct ring {
	const uint8_t *data; /* the mapping */
	uint64_t bytes;
	uint32_t slots;
	unsigned uses;
	uint32_t n_fields;
	struct ring_field fields[SEGMENT_FIELDS_MAX]; /* image, label and index among them */
	uint8_t dataset[16], pipeline[16];	      /* hashes, as the header has them */
};

/*
 * Map a descriptor (which stays the caller's) that must be a sealed memfd of `bytes`.
 * 0, -EPROTO if it or its header is not as it must be, or another negative errno; with words.
 */
int ring_map(struct ring **out, int fd, uint64_t bytes, uint64_t number, struct fault *fault);
struct ring *ring_use(struct ring *ring);
void ring_drop(struct ring *ring); /* unmaps after the last use; NULL is fine */

/* Are a sample's arrays, the dataset and the pipeline the same in both? Slots may differ. */
bool ring_like(const struct ring *ring, const struct ring *other);

/* The header page alone: fills in slots and fields of `out`, whose bytes are set. A field of a type
 * that this library does not know is left out. `fault` has the words on -EPROTO. Pure. */
int ring_parse(struct ring *out, const struct segment_header *header, uint64_t number,
	       struct fault *fault);

/* The field of that name; NULL if there is none: never of image, label and index. */
const struct ring_field *ring_find(const struct ring *ring, const char *name);

/* The array of one slot; `slot` must be below slots. NULL if there is no such field. */
static inline const void *ring_slot(const struct ring *ring, const char *name, uint32_t slot)
{
	const struct ring_field *field = ring_find(ring, name);
	return field ? ring->data + field->offset + slot * field->stride : NULL;
}

#endif
