/* SPDX-License-Identifier: MIT */
/*
 * Defaults that depend on the machine: how many processors and how much memory this process may
 * use, and where its files belong. Reads /proc and /sys; the main thread, before there are others,
 * unless it is said.
 */
#ifndef STOKER_CONFIG_MACHINE_H
#define STOKER_CONFIG_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

enum {
	MACHINE_E_FOLDER = 1, /* it cannot be created, or another user can write to it */
};

/* Processors in the affinity mask; at least 1. */
unsigned machine_processors(void);
/* Whole processors that the quota of this control group lets it use; UINT_MAX: it has none. */
unsigned machine_quota(void);
/* Bytes of memory, or the smallest limit of this process's control groups (of both
 * versions), if that is less. */
uint64_t machine_memory(void);
/* Bytes of it that are free, or hold what the system would drop; UINT64_MAX: not known. Both any
 * thread. */
uint64_t machine_available(void);

/* Defaults as texts; `out` should have 4096 bytes. */
void machine_socket(char *out, size_t size);
void machine_socket_mode(char *out, size_t size);
/* A number; for the daemon of the system's unit `auto`. */
void machine_workers(char *out, size_t size);
void machine_fetchers(char *out, size_t size);
void machine_index_memory(char *out, size_t size); /* 256M, or a sixteenth of little memory */
void machine_config(char *out, size_t size);

/* Create the folder of the default socket, if it does not exist, and check that no other user can
 * replace the socket by their own. 0 or MACHINE_E_FOLDER. */
int machine_make_folder(const char *socket, struct fault *fault);

#endif
