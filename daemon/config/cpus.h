/* SPDX-License-Identifier: MIT */
/*
 * A set of processors as people write it: "0-3,8". Only such that the process may use at all
 * (taskset, cpuset): a thread that were told to run elsewhere would not start. Owns its memory;
 * main's thread, and the loop's.
 */
#ifndef STOKER_CONFIG_CPUS_H
#define STOKER_CONFIG_CPUS_H

#include <sched.h>
#include <stddef.h>

#include "base/fault.h"

enum {
	CPUS_E_BAD = 1, /* the words name the entry that is wrong */
};

struct cpus {
	cpu_set_t *set; /* NULL: all that the process may use */
	size_t bytes;
};
#define CPUS_NULL ((struct cpus){0})

/* Those that the process may use: 0 or a negative errno. */
int cpus_of_process(struct cpus *out);
/* Numbers and ranges between commas; an empty text is CPUS_NULL. 0, CPUS_E_BAD or -ENOMEM. */
int cpus_parse(struct cpus *out, const char *text, struct fault *fault);
void cpus_deinit(struct cpus *cpus); /* may be called twice, and on CPUS_NULL */

#endif
