/* SPDX-License-Identifier: MIT */
/*
 * The last minute of a reader, second by second: what was delivered to it, and which part of the
 * second its trainer waited for samples. Arithmetic; any thread.
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
	uint64_t count; /* of all seconds, of which the last MINUTE_SECONDS are kept */
};

/* `waited` is held to 0 to 1. */
void minute_add(struct minute *minute, uint64_t delivered, double waited);
unsigned minute_kept(const struct minute *minute);
/* The second `i` of those that are kept, 0 the oldest. */
const struct minute_second *minute_second(const struct minute *minute, unsigned i);
/* Mean of what was waited, 0 to 1; -1: no second has gone by. */
double minute_waited(const struct minute *minute);

#endif
