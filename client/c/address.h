/* SPDX-License-Identifier: MIT */
/*
 * Where the daemon's sockets are, connecting to one, and whether who serves it is to be believed.
 * Knows no message. Any thread, except that the environment is read.
 */
#ifndef STOKER_CLIENT_ADDRESS_H
#define STOKER_CLIENT_ADDRESS_H

#include <stddef.h>
#include <sys/types.h>

#include "client/c/fault.h"

#define ADDRESS_MAX 108 /* of a path, its NUL included: what the kernel takes */

enum address_socket { ADDRESS_DATA, ADDRESS_CONTROL };

/* Where to look, in this order: `given` alone, else the environment's alone, else the usual places.
 * Returns how many were written; paths too long for a socket are left out. */
#define ADDRESS_PLACES_MAX 4
size_t address_places(enum address_socket socket, const char *given,
		      char out[ADDRESS_PLACES_MAX][ADDRESS_MAX]);

/*
 * Connect to the first place that answers and is to be believed. The descriptor, which is the
 * caller's and does not block, or a negative errno with words: -ENOENT nobody is there, -EACCES,
 * -ETIMEDOUT its queue of connections stayed full.
 */
int address_connect(enum address_socket socket, const char *given, struct fault *fault);

/* May `uid` serve the socket at `path`? Root and the caller; and who owns the directory, unless
 * somebody else could have put the directory there. */
int address_trusts(const char *path, uid_t uid);

#endif
