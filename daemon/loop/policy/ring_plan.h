/* SPDX-License-Identifier: MIT */
/*
 * A demand: what a reader asks of the ring it is to live on. Says which rings will do and what a
 * ring of its own would be. Loop thread; knows no peer and no reader.
 */
#ifndef STOKER_LOOP_POLICY_RING_PLAN_H
#define STOKER_LOOP_POLICY_RING_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"
#include "loop/state/ring.h"
#include "loop/state/shard.h"

#define DEMAND_SLOTS_MAX ((uint64_t)1 << 31)

struct demand {
	bool fd, path; /* transports that the client takes */
	unsigned inflight;
	uint64_t prefetch; /* batches of all ranks; 0: as many as seem good */
};

enum {
	DEMAND_E_MEMORY = 1, /* the budget has no room for it; the words have the numbers ... */
	DEMAND_E_LIMIT,	     /* ... or the user's part of it */
	DEMAND_E_EPOCH,	     /* no ring counts that far */
};

/* Can a reader with this share live on that ring from the batch at `from` on? */
bool demand_fits(const struct demand *demand, const struct share *share, const struct cursor *from,
		 const struct ring *ring);
/* The ring of this user that it would have made for itself. 0 or a condition. */
int demand_plan(const struct demand *demand, const struct share *share, const struct cursor *from,
		const struct stream *stream, uid_t uid, struct ring_plan *plan_out,
		struct fault *fault);

#endif
