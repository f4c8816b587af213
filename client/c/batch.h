/* SPDX-License-Identifier: MIT */
/*
 * A batch that the caller holds: a BATCH of the daemon, checked against the ring, as pointers into
 * the ring. Keeps the ring mapped. Plain memory; knows no socket.
 */
#ifndef STOKER_CLIENT_BATCH_H
#define STOKER_CLIENT_BATCH_H

#include "client/c/ring.h"
#include "client/c/stoker.h"
#include "proto/message.h"

struct batch {
	struct stoker_batch batch; /* what the caller sees; first, so that both have one address */
	struct ring *ring;	   /* a counted reference */
	struct ring_size size;
	uint32_t slot[STOKER_RUNS_MAX]; /* where each run begins */
	uint64_t lease;
	uint64_t attachment; /* number of the handle's attachment that it belongs to ... */
	uint64_t connected;  /* ... and of its connection */
	struct batch *next;
};

enum {
	BATCH_E_RUNS = 1, /* its runs are outside of the ring, too many, or not `count` samples */
};

/* A batch of at most `most` samples. 0, BATCH_E_RUNS or -ENOMEM. */
int batch_new(struct batch **out, const struct message_batch *message, struct ring *ring,
	      uint64_t most, uint64_t attachment);
/* The number of batches in a list that belong to one attachment. */
uint64_t batch_count(const struct batch *first, uint64_t attachment);
/* The array of a field of one run; NULL if there is no such field or run. */
const void *batch_field(const struct batch *batch, uint32_t run, const char *name);
/* The array of a field of one sample, and its shape; NULL: there is none, or a wrong one. */
const void *batch_item(const struct batch *batch, uint32_t sample, const char *name,
		       uint64_t shape_out[STOKER_SHAPE_MAX]);
/* A field for callers. */
struct stoker_array batch_array_of(const struct ring_field *field);
/* A field as the batch has it. -ENOENT: there is none of this name. */
int batch_array(const struct batch *batch, const char *name, struct stoker_array *array_out);
void batch_free(struct batch *batch);
void batch_free_all(struct batch *first); /* and those after it */

#endif
