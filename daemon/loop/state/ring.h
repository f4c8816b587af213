/* SPDX-License-Identifier: MIT */
/*
 * A ring: shared memory that holds a sliding window of consecutive positions of one stream, a slot
 * each. Owns the segment and the state of every slot. Loop thread; knows no reader, only claims.
 *
 * Positions of all epochs are laid end to end as ordinals: epoch * stride + position, where stride
 * is an epoch's length rounded up for the reader that the ring was made for, so that epochs
 * begin on a slot that keeps its batches from wrapping (share_stride()). The window is the ordinals
 * [base, base + slots); ordinal o is in slot o mod slots. Samples that all readers are done with
 * stay until their slots are needed, so that a reader that joins a little late still finds them.
 *
 * With buckets the positions of a run lie in consecutive slots, and its samples, which are smaller
 * than a slot where their bucket is not the largest, one behind the other from the run's first slot
 * on. So the window moves by whole runs.
 *
 * The window moves forward only, and never past a claim (docs/ring.md has the figure).
 */
#ifndef STOKER_LOOP_STATE_RING_H
#define STOKER_LOOP_STATE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "loop/os/segment.h"
#include "loop/os/task.h"
#include "loop/state/bands.h"
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
	uint32_t larger; /* of ERROR_SAMPLE_LARGER: the field that has no room ... */
	uint64_t needed; /* ... for so many bytes */
};

struct slot {
	uint8_t state;
	bool substituted;
	uint32_t pins;	  /* leases that cover it */
	uint64_t made_ns; /* when a worker had finished it */
	struct slot_note *note;
};

struct core;
struct stream;

/* Claim of a reader, a lease or a migrating reader: this ordinal and all after it are needed. */
struct ring_claim {
	struct list link; /* in ring->claims */
	uint64_t ordinal; /* UINT64_MAX: nothing */
};

/* One who waits for a ring to be made, or for more of its slots to have memory; called once by the
 * step, unless its link is removed. */
struct ring_waiter {
	struct list link;
	void (*on_made)(struct ring_waiter *waiter, int result, const struct fault *fault);
};

/*
 *   making --(the task is done)--> notified: whoever waited knows --(last reader left)--> abandoned
 *
 * An abandoned ring is freed by the step once no job and no lease is on it, and no client may still
 * open it.
 */
struct ring {
	uint64_t id;
	struct core *core;
	struct stream *stream;	/* held: its recipe outlives the last job */
	struct list link;	/* in stream->rings, or in core->abandoned */
	struct list in_touched; /* in core->touched, or empty */
	uid_t uid;		/* it was made for */
	struct list readers;	/* struct reader */
	struct list leases;	/* struct lease */
	struct list arrivals;	/* struct reader that migrates to here, by move.link */
	struct list claims;	/* struct ring_claim of all three */
	struct list waiters;
	struct segment segment;
	bool made;     /* the segment stands */
	bool notified; /* waiters were told, whatever came of it */
	bool abandoned;
	bool lean;	      /* smaller than is good for more than one steady trainer */
	double spare;	      /* of workers' time, in the ring that this one replaces; 0: none */
	atomic_bool unwanted; /* the same, for workers: what they make is looked at by nobody */
	struct {
		struct task task;
		bool pending;
		struct segment segment; /* the task's until it is done; then `result` holds */
		int result;
		struct fault fault;
	} making;
	struct bands bands; /* the slots that have memory */
	struct {
		struct task task;
		bool pending, done; /* done: waiters are to be told */
		struct segment_run *run;
		size_t runs, bytes;
		struct share share; /* for this reader ... */
		struct cursor from; /* ... from here on */
		int result;
		struct fault fault;
		bool refused; /* it failed once: nobody asks again */
	} backing;

	uint32_t slots;
	uint64_t stride, base;
	uint64_t run; /* `base` and `slots` are multiples of it: with buckets a run's length; else 1
		       */
	struct slot *slot;
	uint64_t jobs;	  /* slots FILLING */
	unsigned openers; /* readers that left, but whose clients may still open its path */
	bool lost_reader; /* jobs that only it wanted are to be cancelled */
	bool obstructed;  /* the window could not move past a slot that is FILLING */
	uint64_t wake_at; /* a floor from here on lets a reader in slot wait go on */
	uint64_t picked;  /* when the scheduler picked one of its readers last */
};

/* Plan of a ring. */
struct ring_plan {
	enum segment_transport transport;
	uint64_t slots, stride;
	uint64_t start; /* the first ordinal of its window */
	uid_t uid;	/* whom its memory is charged to */
	bool lean;
	bool banded;		   /* memory only for the slots that ... */
	struct share share;	   /* ... this reader needs ... */
	struct cursor from;	   /* ... from here on, ... */
	const struct bands *bands; /* ... and those of these, if it is not NULL */
};

/* Bytes of a segment of so many slots for this stream. */
uint64_t ring_bytes(const struct stream *stream, uint64_t slots);
/* Bytes of a ring that shall be so; UINT64_MAX: there is no memory to tell. */
uint64_t ring_plan_bytes(const struct stream *stream, const struct ring_plan *plan);
/*
 * A ring that is being made by a task; its bytes are charged to the budget from now on. Whoever is
 * in `waiters` when the step finds it made (or failed) is told. 0 or a negative errno.
 */
int ring_new(struct ring **out, struct stream *stream, const struct ring_plan *plan);
/* No reader, arrival, lease, job or opener may be left, and no task under way. */
void ring_free(struct ring *ring);
/* Is memory there for all that a reader with this share needs from that batch on? */
bool ring_backs(const struct ring *ring, const struct share *share, const struct cursor *from);
/* Count the bytes of memory that it lacks for that; UINT64_MAX: it cannot have it. */
uint64_t ring_missing_bytes(const struct ring *ring, const struct share *share,
			    const struct cursor *from);
/* Get it that memory, by a task, which it is charged for from now on; then those in `waiters` hear
 * of it. One at a time. 0 or a negative errno. */
int ring_back(struct ring *ring, const struct share *share, const struct cursor *from);
/* Nobody can find it any more. */
void ring_abandon(struct ring *ring);
/* Something of it changed: the next step looks whether its window can move, who can be woken, and
 * whether anybody still needs it. */
void ring_touch(struct ring *ring);

/* Claims. Each end or change touches the ring. */
void ring_claim(struct ring *ring, struct ring_claim *claim, uint64_t ordinal);
void ring_unclaim(struct ring *ring, struct ring_claim *claim);
/* The oldest ordinal that is claimed; UINT64_MAX if none is. */
uint64_t ring_floor(const struct ring *ring);

uint64_t ring_ordinal(const struct ring *ring, uint64_t epoch, uint64_t position);
/* So many epochs of this stride have ordinals, and sums of them: 2^32 unless they are huge. */
uint64_t ring_epochs(uint64_t stride);
/* The entry of a field, of `bytes`, for the sample at an ordinal. */
void *ring_entry(const struct ring *ring, uint32_t field, uint64_t ordinal, size_t bytes);
/* The slot in which the run of an ordinal begins. */
uint32_t ring_run_slot(const struct ring *ring, uint64_t ordinal);
bool ring_holds(const struct ring *ring, uint64_t ordinal);
struct slot *ring_slot(struct ring *ring, uint64_t ordinal); /* ring_holds() it */
uint32_t ring_slot_number(const struct ring *ring, uint64_t ordinal);
uint64_t ring_ordinal_of(const struct ring *ring, uint32_t slot_number); /* in today's window */
/* Could the window move so that it holds `ordinal`? */
bool ring_could_hold(const struct ring *ring, uint64_t ordinal);
/* Move the window so that it holds `ordinal`, if claims, pins and jobs allow it. False: it does not
 * yet; `wake_at` and `obstructed` say what to wait for. */
bool ring_advance(struct ring *ring, uint64_t ordinal);

void slot_fill(struct slot *slot);
void slot_done(struct slot *slot, bool substituted, uint64_t made_ns);
void slot_spoil(struct slot *slot, struct slot_note *note); /* takes the note over */
void slot_unfill(struct slot *slot);			    /* a cancelled job */

#endif
