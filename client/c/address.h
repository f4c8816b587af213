/* SPDX-License-Identifier: MIT */
/*
 * Addresses of the daemon's sockets, how to connect to one, and whether the process that serves it
 * can be trusted. Knows no message. Any thread, but it reads the environment.
 */
#ifndef STOKER_CLIENT_ADDRESS_H
#define STOKER_CLIENT_ADDRESS_H

#include <stddef.h>
#include <sys/types.h>

#include "client/c/fault.h"

#define ADDRESS_MAX 108 /* bytes of a path with its NUL: the limit of the kernel */

enum address_socket { ADDRESS_DATA, ADDRESS_CONTROL };

/* List the paths to try: only `given` if it is not NULL, else only the path from the environment if
 * it is set, else the default places in order. Returns how many were written; paths too long for a
 * socket are left out. */
#define ADDRESS_PLACES_MAX 4
size_t address_places(enum address_socket socket, const char *given,
		      char out[ADDRESS_PLACES_MAX][ADDRESS_MAX]);

/* A search for a daemon. The rest is zero. */
struct address_search {
	enum address_socket socket;
	const char *given; /* borrowed; NULL: the usual places */
	size_t next;	   /* place to try */
	int result;	   /* why there is none so far; 0: none was tried */
	char tried[512];   /* the same, for people */
};

/*
 * Connect to the next place that answers and can be trusted. Returns a non-blocking descriptor,
 * which the caller owns, or a negative errno, explained in `fault` with all that was tried: -ENOENT
 * nobody listens, -EACCES, -ETIMEDOUT its queue of connections stayed full. `where_out`: the path
 * of that place.
 */
int address_connect(struct address_search *search, char where_out[ADDRESS_MAX],
		    struct fault *fault);
/* Go on behind that place, which is of no use for this reason. */
void address_pass_over(struct address_search *search, int result, const struct fault *why);

/* May `uid` serve the socket at `path`? Root and the caller may; so may the owner of the directory,
 * unless another user could have made the directory. */
int address_trusts(const char *path, uid_t uid);

#endif
