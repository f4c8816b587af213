/* SPDX-License-Identifier: MIT */
/*
 * Ring plan: which rings suit what a reader asks for, and what a ring made for it would be.
 * Computes from state and changes nothing. Loop thread; knows no connection.
 */
#ifndef STOKER_LOOP_POLICY_RING_PLAN_H
#define STOKER_LOOP_POLICY_RING_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"
#include "loop/state/reader.h"

#define RING_PLAN_SLOTS_MAX ((uint64_t)1 << 31)

enum {
	RING_PLAN_E_MEMORY = 1, /* the budget has no room for it; the words have the numbers */
	RING_PLAN_E_LIMIT, /* the user's part of the budget, or of descriptors, has none; likewise
			    */
	RING_PLAN_E_EPOCH, /* ordinals do not reach that epoch */
};

/* Can a reader with this share live on that ring from the batch at `from` on? */
bool ring_fits(const struct ring_request *request, const struct share *share,
	       const struct cursor *from, const struct ring *ring);
/* The ring that would be made for it and charged to its user. 0 or a condition. */
int ring_plan_make(const struct ring_request *request, const struct share *share,
		   const struct cursor *from, const struct stream *stream,
		   struct ring_plan *plan_out, struct fault *fault);

#endif
