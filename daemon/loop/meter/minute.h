/* SPDX-License-Identifier: MIT */
/*
 * The last minute of a reader, second by second: how many samples were delivered to it, and what
 * share of the second its trainer waited for them. Arithmetic; any thread.
 */
#ifndef STOKER_LOOP_METER_MINUTE_H
#define STOKER_LOOP_METER_MINUTE_H

#include <stdint.h>

#define MINUTE_SECONDS 60

struct minute {
	struct minute_second {
		uint32_t delivered; /* samples */
		float waited;	    /* share of the second, 0 to 1 */
	} seconds[MINUTE_SECONDS];
	uint64_t count; /* seconds added so far, of which the last MINUTE_SECONDS are kept */
};

/* Add a second; `waited` is clamped to 0 to 1. */
void minute_add(struct minute *minute, uint64_t delivered, double waited);
/* Number of seconds that are kept. */
unsigned minute_kept(const struct minute *minute);
/* Second `i` of those that are kept; 0 is the oldest. */
const struct minute_second *minute_second(const struct minute *minute, unsigned i);
/* Mean share that the trainer waited, 0 to 1; -1: no second has been added. */
double minute_waited(const struct minute *minute);

#endif
