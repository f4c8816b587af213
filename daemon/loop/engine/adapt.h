/* SPDX-License-Identifier: MIT */
/*
 * Adapts the number of threads where it is `auto`: measures what readers wait for and what threads
 * and processors do, once a second, and does what state/auto_threads.h says. Each change is
 * logged with its reason. Loop thread.
 */
#ifndef STOKER_LOOP_ENGINE_ADAPT_H
#define STOKER_LOOP_ENGINE_ADAPT_H

#include <stdbool.h>
#include <stdint.h>

#include "loop/os/processors.h"

struct core;

struct adapt {
	struct processors machine;
	unsigned processors; /* that the workers may use */
	uint64_t looked_ns;  /* 0: nothing is auto */
	uint64_t work_ns, fetch_ns, samples;
};

void adapt_init(struct adapt *adapt, unsigned processors);
/* Each second, after measure_tick(). True: core_workers() or core_fetchers() is another number. */
bool adapt_tick(struct adapt *adapt, struct core *core, uint64_t now_ns);

#endif
