/* SPDX-License-Identifier: MIT */
/*
 * A reader: one attached training process, with its place in the stream. A member of a ring. Loop
 * thread; knows its peer only to speak to it.
 */
#ifndef STOKER_LOOP_STATE_READER_H
#define STOKER_LOOP_STATE_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "loop/policy/ring_plan.h"
#include "loop/state/shard.h"
#include "loop/state/wait_time.h"

struct peer;
struct ring;
struct stream;
struct turn;

#define READER_JOB 256 /* of a job's name, which ATTACH bounds, and its end */

/* What a reader does or waits for; names of `stokerctl readers`. */
enum reader_state {
	READER_PAUSED,	/* it wants no batch in flight */
	READER_HOLDING, /* it holds all it asked for: the trainer is at work */
	READER_FILLING, /* its next batch is being made */
	READER_STALLED, /* and a read for that hangs */
	READER_WAITING, /* no room in the ring: another reader holds it */
	READER_ENDED,	/* it has had its epochs */
};

/* What becomes of it where another holds the ring; see pace.h. */
enum reader_pace { PACE_AUTO, PACE_FREE, PACE_TOGETHER };

struct reader {
	uint64_t id;
	struct peer *peer;
	struct stream *stream; /* held */
	struct ring *ring;     /* NULL once it has ended */
	struct list in_ring;
	struct turn *turn;     /* held: its user's place in the line with this stream ... */
	struct list in_hungry; /* ... where it stands, or empty */

	struct share share;
	struct demand demand;
	struct cursor start; /* its first batch */
	uint64_t end_epoch;  /* no batch of this epoch or later */
	bool told_end;
	char job[READER_JOB];

	struct cursor next; /* the batch to announce next ... */
	uint64_t checked;   /* ... of which so many samples are made */
	struct cursor want; /* the batch whose samples to order next ... */
	uint64_t ordered;   /* ... of which so many are ordered */
	bool blocked;	    /* `want` is beyond what the ring can hold now */
	bool stalled;	    /* told that a read for `next` hangs */

	unsigned priority;	   /* its weight among its user's streams */
	unsigned inflight, leased; /* batches: wanted, and held of this reader's */

	/* pace.c's */
	enum reader_pace pace;
	bool moves;		/* it follows to another ring */
	struct list in_starved; /* in server->pace.starved, or empty ... */
	uint64_t since_ns;	/* ... since; else when it was fed last */
	uint64_t held_ns;	/* for how long others held it; fades while it is fed */
	uint64_t due_ns;	/* when something shall be done about it */
	struct list in_due;	/* in server->pace.due, or empty */
	struct {
		struct ring *ring; /* where it goes on; NULL if it does not move */
		struct list link;  /* in ring->comers */
		bool settled;	   /* the ring is made and holds its place there ... */
		struct cursor at;  /* ... from this batch on */
	} move;

	uint64_t announced, wanted; /* samples, since the attach */
	uint64_t attached_ns;
	struct wait wait;
	uint64_t rate_base;
	double rate;
};

struct reader_request {
	struct share share;
	uint64_t epoch, position, epochs;
	unsigned priority;
	struct demand demand;
	enum reader_pace pace;
	bool moves;
	char job[READER_JOB]; /* "": none */
};

/* Join `ring`, which holds the place to start at. 0 or -ENOMEM. */
int reader_new(struct reader **out, struct peer *peer, struct ring *ring,
	       const struct reader_request *request);
/* Leave the ring, which goes with its last reader and lease. The reader's leases stay. */
void reader_free(struct reader *reader);
/* Go on in `ring`, which holds its place, or nowhere (NULL) since it has ended. */
void reader_enter(struct reader *reader, struct ring *ring);

/* The ordinal of the next batch to announce; UINT64_MAX if it has ended. */
uint64_t reader_place(const struct reader *reader);
/* The oldest ordinal it still needs; UINT64_MAX if it has ended and holds nothing. */
uint64_t reader_floor(const struct reader *reader);
bool reader_ended(const struct reader *reader);
enum reader_state reader_state(const struct reader *reader);
const char *reader_state_name(enum reader_state state);
/* The reader that holds the ring while this one is WAITING, or NULL. */
const struct reader *reader_waits_for(const struct reader *reader);

#endif
