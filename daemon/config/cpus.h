/* SPDX-License-Identifier: MIT */
/*
 * A set of processors, parsed from a text such as "0-3,8". Refuses processors that the process may
 * not use (taskset, cpuset), because a thread could not be moved there. Owns its memory; the main
 * thread, which becomes the loop thread.
 */
#ifndef STOKER_CONFIG_CPUS_H
#define STOKER_CONFIG_CPUS_H

#include <sched.h>
#include <stddef.h>

#include "base/fault.h"

enum {
	CPUS_E_BAD = 1, /* an entry is wrong; the words name it */
};

struct cpus {
	cpu_set_t *set; /* NULL: all processors that the process may use */
	size_t bytes;
};
#define CPUS_NULL ((struct cpus){0})

/* The processors that the process may use. 0 or a negative errno. */
int cpus_of_process(struct cpus *out);
/* Parse numbers and ranges separated by commas; no text gives CPUS_NULL. 0, CPUS_E_BAD or -ENOMEM.
 */
int cpus_parse(struct cpus *out, const char *text, struct fault *fault);
void cpus_deinit(struct cpus *cpus); /* may be called twice, and on CPUS_NULL */

#endif
