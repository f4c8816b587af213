/* SPDX-License-Identifier: MIT */
/*
 * A reader: one attached training process, with its place in the stream and the batches it holds.
 * Owns its leases; is a member of a ring. Loop thread; knows its peer only to speak to it.
 */
#ifndef STOKER_LOOP_READER_H
#define STOKER_LOOP_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "loop/share.h"
#include "proto/value.h"

struct peer;
struct ring;

/* A batch that was announced and not released. */
struct lease {
	struct list link; /* in reader->leases, oldest first */
	uint64_t id, ordinal, count;
};

/* What a reader does or waits for; names of `stokerctl readers`. */
enum reader_state {
	READER_PAUSED,	/* it wants no batch in flight */
	READER_HOLDING, /* it holds all it asked for: the trainer is at work */
	READER_FILLING, /* its next batch is being made */
	READER_WAITING, /* no room in the ring: another reader holds it */
	READER_ENDED,	/* it has had its epochs */
};

struct reader {
	uint64_t id;
	struct peer *peer;
	struct ring *ring;
	struct list in_ring;
	struct list in_hungry; /* in server->hungry, or empty */

	struct share share;
	uint64_t end_epoch; /* no batch of this epoch or later */
	bool told_end;
	char job[64];

	struct cursor next; /* the batch to announce next ... */
	uint64_t checked;   /* ... of which so many samples are made */
	struct cursor want; /* the batch whose samples to order next ... */
	uint64_t ordered;   /* ... of which so many are ordered */
	bool blocked;	    /* `want` is beyond what the ring can hold now */

	unsigned inflight, leased;
	struct list leases;
	uint64_t last_lease;

	uint64_t announced, wanted; /* samples, since the attach */
	uint64_t attached_ns;
	uint64_t rate_base;
	double rate;
};

struct reader_request {
	struct share share;
	uint64_t epoch, position, epochs;
	unsigned inflight;
	struct text job;
};

/* Join `ring`, which holds the place to start at. 0 or -ENOMEM. */
int reader_new(struct reader **out, struct peer *peer, struct ring *ring,
	       const struct reader_request *request);
/* Leave: all leases are given back; the ring goes with its last reader. */
void reader_free(struct reader *reader);

/* The oldest ordinal it still needs; UINT64_MAX if it has ended and holds nothing. */
uint64_t reader_floor(const struct reader *reader);
bool reader_ended(const struct reader *reader);
enum reader_state reader_state(const struct reader *reader);
const char *reader_state_name(enum reader_state state);
/* The reader that holds the ring while this one is WAITING, or NULL. */
const struct reader *reader_waits_for(const struct reader *reader);

/* RELEASE: LEASED -> FREE. False if there is no such lease. */
bool reader_release(struct reader *reader, uint64_t lease);

#endif
