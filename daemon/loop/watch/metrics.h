/* SPDX-License-Identifier: MIT */
/*
 * All that is counted, as the text that Prometheus reads: the counters of proto/tables.h,
 * histograms, budgets; and for each reader, stream and dataset what it has, up to a bound. Jobs
 * have names for who may see them, else numbers. Reads state and changes nothing. Loop thread.
 */
#ifndef STOKER_LOOP_WATCH_METRICS_H
#define STOKER_LOOP_WATCH_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "loop/watch/writer.h"

struct core;

#define METRICS_MOST 200 /* streams, datasets that are shown one by one */

/* Text format 0.0.4, or OpenMetrics 1.0.0. `started_ns`: the daemon, by clock_ns(). */
void metrics_write(struct writer *writer, struct core *core, uint64_t started_ns, bool names,
		   bool open);

#endif
