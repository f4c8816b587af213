/* SPDX-License-Identifier: MIT */
/*
 * The descriptor of stoker_fd(): an epoll set with the connection and, while there is no daemon, a
 * timer for the next attempt. Made when it is first asked for. Owns both descriptors, not the
 * socket; one thread at a time. Knows no message.
 */
#ifndef STOKER_CLIENT_WATCH_H
#define STOKER_CLIENT_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct watch {
	int epoll;	 /* -1: not asked for yet */
	int timer;	 /* in the set; -1: not needed yet */
	uint32_t events; /* of the socket; 0: the socket is not in the set */
};
#define WATCH_NULL ((struct watch){-1, -1, 0})

void watch_deinit(struct watch *watch); /* may be called twice */

/* The descriptor, or a negative errno. */
int watch_open(struct watch *watch);

/* The socket is replaced or closed; a closed socket has left the set by itself. */
void watch_forget(struct watch *watch);

/* Become readable when `socket` (-1: closed) can be read, or written if `sends`, and when
 * clock_ms() is `at` (0: never). 0 or a negative errno; does nothing before watch_open(). */
int watch_update(struct watch *watch, int socket, bool sends, int64_t at);

#endif
