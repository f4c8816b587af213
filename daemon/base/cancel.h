/* SPDX-License-Identifier: MIT */
/*
 * Early end of long work on a sample: nobody wants the sample any more, or the thread has used the
 * CPU time that it may. The work says how much of it is done (pixels times taps), and the answer
 * may be to stop; the clock is read about once a millisecond. One thread's, but for the flag.
 */
#ifndef STOKER_BASE_CANCEL_H
#define STOKER_BASE_CANCEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"

#define CANCEL_LOOK (1u << 20) /* work between two looks */

struct cancel {
	const atomic_bool *unwanted; /* set by whoever ordered it; NULL: never */
	uint64_t limit_ns;	     /* of CPU time from the first look on; 0: any */
	uint64_t until_ns;
	uint64_t done; /* work since the last look */
	bool stopped;
};

static inline bool cancel_is_unwanted(const atomic_bool *unwanted)
{
	return unwanted && atomic_load_explicit(unwanted, memory_order_relaxed);
}

static inline void cancel_look(struct cancel *cancel)
{
	cancel->done = 0;
	cancel->stopped = cancel->stopped || cancel_is_unwanted(cancel->unwanted);
	if (cancel->limit_ns == 0 || cancel->stopped)
		return;
	uint64_t now_ns = clock_thread_ns();
	if (cancel->until_ns == 0)
		cancel->until_ns = now_ns + cancel->limit_ns;
	cancel->stopped = now_ns >= cancel->until_ns;
}

/* So much more is done: shall it stop? NULL: never. */
static inline bool cancel_after(struct cancel *cancel, uint64_t work)
{
	if (!cancel)
		return false;
	cancel->done += work;
	if (cancel->done >= CANCEL_LOOK)
		cancel_look(cancel);
	return cancel->stopped;
}

#endif
