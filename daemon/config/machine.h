/* SPDX-License-Identifier: MIT */
/*
 * What the defaults ask the machine: how many processors and how much memory this process may use,
 * and where its files belong. Reads /proc and /sys; main's thread, before there are others.
 */
#ifndef STOKER_CONFIG_MACHINE_H
#define STOKER_CONFIG_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

enum {
	MACHINE_E_FOLDER = 1, /* the folder cannot be made, or somebody else can write into it */
};

/* Processors in the affinity mask; at least 1. */
unsigned machine_processors(void);
/* Bytes of memory, or the smallest limit of the control groups (v2) above this process. */
uint64_t machine_memory(void);

/* Defaults as texts; `out` has room for any (4096 bytes). */
void machine_socket(char *out, size_t size);
void machine_socket_mode(char *out, size_t size);
void machine_workers(char *out, size_t size);
void machine_config(char *out, size_t size);

/* Make the folder that the default socket is in, if it is not there; and see that no other user
 * could put a socket of theirs in its place. 0 or MACHINE_E_FOLDER. */
int machine_make_folder(const char *socket, struct fault *fault);

#endif
