/* SPDX-License-Identifier: MIT */
/*
 * Wait time of a reader, by cause. Its time is split between the trainer (it holds all batches that
 * it asked for), a slot (none is free: another reader holds them), and its next batch. The time for
 * a batch is split once the batch is made, by its last sample: the part until the bytes were read
 * is storage, the rest is decode. Kept since the attach, and for about the last ten seconds.
 * Arithmetic on the times it is given; any thread.
 */
#ifndef STOKER_LOOP_METER_WAIT_TIME_H
#define STOKER_LOOP_METER_WAIT_TIME_H

#include <stdint.h>

enum wait_cause { WAIT_TRAINER, WAIT_STORAGE, WAIT_DECODE, WAIT_SLOT, WAIT_CAUSES };

enum wait_state {
	WAIT_FOR_NOTHING, /* it has ended */
	WAIT_FOR_TRAINER,
	WAIT_FOR_BATCH,
	WAIT_FOR_SLOT,
};

/* Times at which a sample was handed to the pool, its bytes were there, and it was made. */
struct wait_sample {
	uint64_t ordered_ns, fetched_ns, made_ns;
};

struct wait_time {
	enum wait_state state;
	uint64_t since_ns;		 /* what was before is accounted for */
	uint64_t batch_ns;		 /* waited for the next batch so far ... */
	uint64_t batch_since_ns;	 /* ... without a break since */
	uint64_t wants_since_ns;	 /* ... and, before that, for a slot */
	uint64_t announced;		 /* the reader's, then */
	uint64_t ns[WAIT_CAUSES];	 /* since the attach */
	uint64_t ticked_ns[WAIT_CAUSES]; /* of that at the last tick */
	double recent_ns[WAIT_CAUSES];	 /* fading, up to the last tick */
};

/* Account for the time up to now, from when on it is in `state`. With `made`, the batch that was
 * waited for has come, and this was its last sample. */
void wait_time_change(struct wait_time *wait, enum wait_state state, const struct wait_sample *made,
		      uint64_t now_ns);
void wait_time_tick(struct wait_time *wait, double seconds);
/* Adds the recent nanoseconds of each cause. */
void wait_time_add_recent(const struct wait_time *wait, double ns[WAIT_CAUSES]);
/* Shares of them (0 to 1), in place; the name of the largest, or "" if there is none. `storage`:
 * the name of what the samples' bytes come from. */
const char *wait_time_shares(double ns[WAIT_CAUSES], const char *storage);

#endif
