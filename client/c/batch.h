/* SPDX-License-Identifier: MIT */
/*
 * A batch that the caller holds: the daemon's BATCH, checked against the ring, as pointers into it.
 * Keeps the ring mapped. Pure but for its own memory; knows no socket.
 */
#ifndef STOKER_CLIENT_BATCH_H
#define STOKER_CLIENT_BATCH_H

#include "client/c/ring.h"
#include "client/c/stoker.h"
#include "proto/message.h"

struct batch {
	struct stoker_batch batch; /* what the caller sees; first, so that its pointer is ours */
	struct ring *ring;	   /* counted */
	uint32_t slot[STOKER_RUNS_MAX]; /* where each run begins */
	uint64_t lease;
	uint64_t attachment; /* which of the handle's it is of ... */
	uint64_t connected;  /* ... and which of its connections */
	struct batch *next;
};

enum {
	BATCH_E_RUNS =
		1, /* its runs do not lie in the ring, are not `count` samples, or too many */
};

/* Of `most` samples at most. 0, BATCH_E_RUNS or -ENOMEM. */
int batch_new(struct batch **out, const struct message_batch *message, struct ring *ring,
	      uint64_t most, uint64_t attachment);
/* Of a list, those of one attachment. */
uint64_t batch_count(const struct batch *first, uint64_t attachment);
/* The array of a field of one run; NULL if there is no such field or run. */
const void *batch_field(const struct batch *batch, uint32_t run, const char *name);
void batch_free(struct batch *batch);
void batch_free_all(struct batch *first); /* and those behind it */

#endif
