/* SPDX-License-Identifier: MIT */
/*
 * Count of the machine's idle processors, from /proc/stat. Loop thread.
 */
#ifndef STOKER_LOOP_OS_PROCESSORS_H
#define STOKER_LOOP_OS_PROCESSORS_H

#include <stdint.h>

struct processors {
	uint64_t idle_ticks, at_ns; /* at the last look; 0: there was none */
};

/* Since the last look; 0 at the first. */
double processors_idle(struct processors *processors, uint64_t now_ns);

#endif
