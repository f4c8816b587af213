/* SPDX-License-Identifier: MIT */
/*
 * The machine and the daemon's process as /proc and /sys show them. `root` is "" for the machine;
 * a test gives a folder with files of the same names. Knows no daemon's message.
 */
#ifndef STOKER_CTL_HOST_H
#define STOKER_CTL_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HOST_GROUPS_MAX 64
#define HOST_NO_LIMIT UINT64_MAX

/* The start of a small file; an empty text if it cannot be read. */
__attribute__((format(printf, 4, 5))) void host_read(const char *root, char *out, size_t size,
						     const char *format, ...);
__attribute__((format(printf, 2, 3))) bool host_has(const char *root, const char *format, ...);

/* A process: all 0 if it cannot be seen, as from another PID namespace. */
struct host_process {
	pid_t pid;
	uid_t uid;
	gid_t groups[HOST_GROUPS_MAX];
	size_t n_groups;
	uint64_t files_max; /* descriptors that it may have */
	unsigned processors;
};
/* `name`: what it must be called, because the number may be that of another namespace. */
struct host_process host_process(const char *root, pid_t pid, const char *name);

/* Bytes; 0: not known. */
uint64_t host_memory(const char *root, const char *row); /* "MemTotal", "MemAvailable" */
/* The least memory.max of the groups of this process, HOST_NO_LIMIT if there is none. */
uint64_t host_memory_limit(const char *root, pid_t pid);
/* The processors that cpu.max lets it use; 0: no limit. */
double host_quota(const char *root, pid_t pid);

/* Time of all processors since the start, in ticks. */
struct host_times {
	uint64_t all, steal;
};
struct host_times host_times(const char *root);

#endif
