/* SPDX-License-Identifier: MIT */
/* Usage of another process, as procfs tells it. Loop thread. */
#ifndef STOKER_LOOP_OS_PROCESS_H
#define STOKER_LOOP_OS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process_usage {
	double cpu_s;	/* of a processor, since it began */
	uint64_t bytes; /* of memory, with what it shares */
};

/* False: it cannot be told, since it has ended or procfs hides it. */
bool process_usage(pid_t pid, struct process_usage *out);

#endif
