/* SPDX-License-Identifier: MIT */
/*
 * A reader: one attached training process, with its place in the stream. A member of a ring until
 * it has ended. Loop thread; knows its client's outbox and lease book, and no connection.
 */
#ifndef STOKER_LOOP_STATE_READER_H
#define STOKER_LOOP_STATE_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "loop/meter/minute.h"
#include "loop/meter/wait_time.h"
#include "loop/state/ring.h"
#include "loop/state/share.h"

struct flow;
struct lease_book;
struct outbox;
struct stream;

#define READER_JOB 256 /* of a job's name, which ATTACH bounds, and its end */
#define READER_EPOCHS_MAX ((uint64_t)1 << 32) /* an epoch's number has 32 bits on the wire */

/* Choice of the reader where another one holds the ring; see policy/straggler.h. */
enum reader_pace { PACE_AUTO, PACE_FREE, PACE_TOGETHER };

/* Request of a reader to the ring it lives on; see policy/ring_plan.h. */
struct ring_request {
	uid_t uid;     /* whose ring: users share none */
	bool fd, path; /* transports that the client takes */
	unsigned inflight;
	uint64_t prefetch;	   /* batches of all ranks; 0: as many as seem good */
	bool lean;		   /* it may begin small: the reader can move to a larger one */
	uint64_t above;		   /* so many slots were too few */
	const struct bands *bands; /* of all who are to come; NULL: of itself */
};

#define READER_PRIORITY_MAX 100 /* as ATTACH has it */

struct reader {
	uint64_t id;
	struct outbox *outbox;	 /* the session's ... */
	struct lease_book *book; /* ... too */
	uid_t uid;
	struct stream *stream; /* held */
	struct ring *ring;     /* NULL once it has ended */
	struct ring *left;   /* the one before, by path, which its client may still open; or NULL */
	struct list in_core; /* in core->readers */
	struct list in_ring; /* in ring->readers */
	struct list in_due;  /* in core->due, or empty */
	struct ring_claim claim;
	struct flow *flow;	 /* held */
	struct list in_runnable; /* in flow->runnable, or empty */

	struct share share;
	struct ring_request ring_request;
	struct cursor start; /* its first batch */
	uint64_t end_epoch;  /* no batch of this epoch or later */
	bool end_sent;
	bool unsized;	   /* it does not know the dataset's fingerprint yet ... */
	char expected[33]; /* ... which has to be this; "": any will do */
	char job[READER_JOB];

	struct cursor next; /* the batch to announce next ... */
	uint64_t checked;   /* ... of which so many samples are made */
	struct cursor want; /* the batch whose samples to order next ... */
	uint64_t ordered;   /* ... of which so many are ordered */
	bool code_wait;	    /* as many pictures as should be are on their way through its Map */
	bool slot_wait;	    /* `want` is beyond what the ring can hold now */
	bool stalled;	    /* told that a read for `next` hangs */
	uint64_t
		warned_lease; /* told that this batch, which it holds, is in its own way; 0: none */

	unsigned priority;	   /* its weight among its user's streams, from 1 on */
	unsigned inflight, leased; /* batches: wanted, and held of this reader's */

	/* engine/migrate.c's */
	enum reader_pace pace;
	bool moves;		    /* its client follows to another ring */
	struct list in_held_back;   /* in core->held_back, or empty ... */
	uint64_t since_ns;	    /* ... since; else when it was fed last */
	uint64_t rested_ns;	    /* a batch lay there that its client had not received */
	uint64_t held_ns;	    /* for how long others held it; fades while it is fed */
	uint64_t due_ns;	    /* when something shall be done about it */
	uint64_t fed_ns;	    /* when a batch was announced last */
	uint64_t gave_ns;	    /* when one was given back last */
	uint64_t awaited_before;    /* batches that its trainer waited for, before ... */
	unsigned awaited;	    /* ... and in this second ... */
	unsigned short_seconds;	    /* ... and seconds in a row in which a larger ring had helped */
	struct list in_catching_up; /* in core->catching_up, or empty */
	struct {
		struct ring *ring;	 /* where it goes on; NULL if it does not migrate */
		struct list link;	 /* in ring->arrivals */
		bool settled;		 /* the ring is made and holds its place there ... */
		struct cursor at;	 /* ... from this batch on ... */
		struct ring_claim claim; /* ... which is this */
	} move;

	uint64_t job_number;	    /* the ranks of a job have one, which is never used again */
	bool has_series;	    /* of its own in the metrics, from the attach to the end */
	uint64_t announced, wanted; /* samples, since the attach */
	uint64_t attached_ns;
	struct wait_time wait;
	struct wait_sample last_made; /* the sample that completed its last batch */
	uint64_t rate_base;
	double rate;
	struct minute minute;
};

/* Would it take another batch? */
static inline bool reader_has_credit(const struct reader *reader)
{
	return reader->leased < reader->inflight;
}

static inline bool reader_ended(const struct reader *reader)
{
	return reader->next.epoch >= reader->end_epoch;
}

/* The ordinal of the next batch to announce; UINT64_MAX if it has ended. */
static inline uint64_t reader_place(const struct reader *reader)
{
	return reader->claim.ordinal;
}

/* Be a member of `ring` from its next batch on; it is in none. */
void reader_enter(struct reader *reader, struct ring *ring);
/* Be in none; nothing is told. One by path stays for the client, which may not have opened it, ...
 */
void reader_exit(struct reader *reader);
/* Forget the ring that it left by path. */
void reader_forget_left(struct reader *reader);
/* The next batch was announced. */
void reader_advance(struct reader *reader);
/* Something of what it waits for changed: the next step announces what can be announced. Nothing,
 * if it has ended. */
void reader_touch(struct reader *reader);

/* Does a reader of the ring still have to be given this position? */
bool readers_want(const struct ring *ring, uint64_t epoch, uint64_t position);

#endif
