/* SPDX-License-Identifier: MIT */
/*
 * The descriptor that a caller waits on: an epoll set with the connection in it and, while the
 * daemon is away, a timer for when to try again. Made when it is first asked for. Owns both
 * descriptors, not the socket; one thread at a time. Knows no message.
 */
#ifndef STOKER_CLIENT_WATCH_H
#define STOKER_CLIENT_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct watch {
	int epoll;	 /* -1: nobody asked */
	int timer;	 /* in it; -1: was never needed */
	uint32_t events; /* what it watches the socket for; 0: the socket is not in it */
};
#define WATCH_NULL ((struct watch){-1, -1, 0})

void watch_deinit(struct watch *watch); /* may be called twice */

/* The descriptor, or a negative errno. */
int watch_open(struct watch *watch);

/* Another socket, or none, from now on; a closed one has left the set by itself. */
void watch_forget(struct watch *watch);

/* Wait for `socket` (-1: closed) to have something to read, and room if `sends`; and for the moment
 * `at`, in milliseconds (0: none). 0, also if nobody asked, or a negative errno. */
int watch_update(struct watch *watch, int socket, bool sends, int64_t at);

#endif
