/* SPDX-License-Identifier: MIT */
/*
 * A ring: shared memory that holds a sliding window of consecutive positions of one stream, a slot
 * each. Owns the segment and the state of every slot. Loop thread; knows no peer and no message.
 *
 * Positions of all epochs are laid end to end as ordinals: epoch * stride + position, where stride
 * is an epoch's length rounded up to the global batch of the reader the ring was made for, so that
 * epochs begin on a slot that keeps its batches from wrapping. The window is the ordinals
 * [base, base + slots), ordinal o stands in slot o mod slots. What all readers have done with stays
 * until the room is needed, so that one who comes a little late still finds it.
 */
#ifndef STOKER_LOOP_STATE_RING_H
#define STOKER_LOOP_STATE_RING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "base/list.h"
#include "loop/os/segment.h"
#include "work/job.h"

/*
 *   EMPTY ---> FILLING ---> READY
 *     ^  slot_fill |   slot_done
 *     |            +-----> BAD        (cannot be made: a note says why)
 *     +--- slot_empty ------+         (never while pinned: a lease holds it)
 */
enum slot_state { SLOT_EMPTY, SLOT_FILLING, SLOT_READY, SLOT_BAD };

/* Why a slot is BAD. */
struct slot_note {
	uint64_t sample;
	unsigned code; /* an error_code */
	struct fault fault;
};

struct slot {
	uint8_t state;
	bool substituted;
	uint32_t pins; /* leases that cover it */
	uint64_t ready_ns;
	struct slot_note *note;
};

struct server;
struct stream;

/* One who waits for a ring to be made; called once, unless taken back before. */
struct ring_waiter {
	struct list link;
	void (*on_made)(struct ring_waiter *waiter, int result, const struct fault *fault);
};

struct ring {
	uint64_t id;
	struct server *server;
	struct stream *stream; /* held: its recipe outlives the last job */
	struct list link;      /* in stream->rings, or in server->dying */
	bool abandoned;
	uid_t uid; /* it was made for */
	struct list readers, leases;
	struct list comers; /* struct reader on the way here, by move.link; see pace.h */
	struct segment segment;
	bool made; /* the segment stands; before that waiters wait */
	struct list waiters;
	struct {
		uv_work_t work;
		struct segment segment; /* the making thread's, until it has called back */
		int result;
		struct fault fault;
	} making;

	uint32_t slots;
	uint64_t stride, base;
	struct slot *slot;
	uint64_t jobs;	 /* slots FILLING */
	bool obstructed; /* the window could not move past a slot in a thread's hand */
	uint64_t rouse;	 /* a floor from here on lets one of its blocked readers go on */
	uint64_t turn;	 /* its last one, see turn.h */
};

/* What a ring shall be. */
struct ring_plan {
	enum segment_transport transport;
	uint64_t slots, stride;
	uint64_t start; /* the first ordinal of its window */
	uid_t uid;	/* whom its memory is counted for */
};

/* Bytes of a segment of so many slots for this stream. */
uint64_t ring_bytes(const struct stream *stream, uint64_t slots);
/*
 * A ring that is being made on a thread, its bytes counted against the budget; who is in `waiters`
 * by the next turn of the loop is told. 0 or a negative errno.
 */
int ring_new(struct ring **out, struct stream *stream, const struct ring_plan *plan);
/* Drop a ring without readers: at once, or when the last thread and the last lease are off it. */
void ring_abandon(struct ring *ring);
/* An abandoned ring whose jobs were in a thread's hand then: maybe they are not now. */
void ring_reap(struct ring *ring);
/* A job of this ring came back; an abandoned ring may go now. */
void ring_job_back(struct ring *ring);
/* For a reader that is blocked, but not by the window: whatever moves, it looks again. */
void ring_rouse(struct ring *ring);
/* A reader left: the window may move, a ring without any is abandoned. */
void ring_left(struct ring *ring);
/* A lease was given back: the window may move, an abandoned ring may go. */
void ring_loosened(struct ring *ring);

uint64_t ring_ordinal(const struct ring *ring, uint64_t epoch, uint64_t position);
/* So many epochs of this stride have ordinals, and sums of them: 2^32 unless they are huge. */
uint64_t ring_epochs(uint64_t stride);
bool ring_holds(const struct ring *ring, uint64_t ordinal);
struct slot *ring_slot(struct ring *ring, uint64_t ordinal); /* ring_holds() it */
uint32_t ring_slot_number(const struct ring *ring, uint64_t ordinal);
uint64_t ring_ordinal_of(const struct ring *ring, uint32_t slot_number); /* in the window of now */
/* The oldest ordinal that is leased or that some reader still needs; UINT64_MAX if none is. */
uint64_t ring_floor(const struct ring *ring);
/* Does a reader still have to be given this position? */
bool ring_wanted(const struct ring *ring, uint64_t epoch, uint64_t position);
/* Move the window so that it holds `ordinal`, as far as readers and threads allow. */
bool ring_reach(struct ring *ring, uint64_t ordinal);

void slot_fill(struct slot *slot);
void slot_done(struct slot *slot, bool substituted);
void slot_spoil(struct slot *slot, struct slot_note *note); /* takes the note over */
void slot_unfill(struct slot *slot);			    /* a cancelled job */

#endif
