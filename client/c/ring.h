/* SPDX-License-Identifier: MIT */
/*
 * The shared memory of a ring, mapped read-only, with its header page checked against the size of
 * the file and its own bounds (layout: proto/ring_layout.h). Reference-counted: the attachment and
 * each held batch keep it mapped, even if the connection is closed. Immutable once mapped. Knows no
 * message.
 */
#ifndef STOKER_CLIENT_RING_H
#define STOKER_CLIENT_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/c/fault.h"
#include "proto/ring_layout.h"

struct ring_field {
	char name[SEGMENT_NAME_MAX]; /* terminated */
	const char *dtype;	     /* a string literal */
	bool ragged;
	bool sized;    /* two zeros of its shape are height and width of a batch */
	uint32_t item; /* bytes of a number */
	uint32_t dims, shape[SEGMENT_DIMS_MAX];
	uint64_t stride, offset;
};

struct ring {
	const uint8_t *data; /* the mapping */
	uint64_t bytes;
	uint32_t slots;
	unsigned uses;
	uint32_t n_fields;
	struct ring_field *fields;	   /* owned; image, label and index among them */
	uint8_t dataset[16], pipeline[16]; /* hashes, from the header */
};

/* Map a descriptor (the caller keeps it), which must be a sealed memfd of `bytes`. 0, -EPROTO if it
 * or its header is wrong, or another negative errno; explained in `fault`. */
int ring_map(struct ring **out, int fd, uint64_t bytes, uint64_t number, struct fault *fault);
struct ring *ring_use(struct ring *ring);
void ring_drop(struct ring *ring); /* unmaps after the last use; NULL is allowed */

/* Do both have the same dataset, pipeline and fields? The number of slots may differ. */
bool ring_like(const struct ring *ring, const struct ring *other);

/* Check the header, a copy of `size` bytes, a page or more; fills in slots and fields of `out`,
 * whose `bytes` is set. A field of a type or a kind that this library does not know is left out. 0,
 * -ENOMEM or -EPROTO, explained in `fault`; ring_deinit_fields() in any case. */
int ring_parse(struct ring *out, const void *header, size_t size, uint64_t number,
	       struct fault *fault);
void ring_deinit_fields(struct ring *ring);

/* A height and width that a batch has for itself, and the slot from which on its samples lie one
 * behind the other; zeros in a ring without sized fields. */
struct ring_size {
	uint64_t height, width, origin;
};

/* Has the ring a field whose height and width differ from batch to batch? */
bool ring_is_sized(const struct ring *ring);
/* Does a batch of this size that begins in slot `first` fit into the slots of all sized fields? */
bool ring_has_size(const struct ring *ring, const struct ring_size *size, uint32_t first);
/* The field as it is in a batch of this size: its shape has no zeros, and slot i is at
 * offset + i * stride. */
struct ring_field ring_field_of(const struct ring_field *field, const struct ring_size *size);

/* The field of that name, or NULL; image, label and index are always there. */
const struct ring_field *ring_find(const struct ring *ring, const char *name);

/* The sample of a ragged field in a slot below `slots`: its shape, and its numbers as the result.
 * NULL: the daemon has written a shape that does not fit. */
const void *ring_ragged(const struct ring *ring, const struct ring_field *field, uint32_t slot,
			uint64_t shape_out[SEGMENT_DIMS_MAX]);

/* The array of one slot; `size` is one that ring_has_size() accepts. NULL: there is no such field.
 */
const void *ring_slot(const struct ring *ring, const char *name, const struct ring_size *size,
		      uint32_t slot);

#endif
