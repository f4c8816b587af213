/* SPDX-License-Identifier: MIT */
/*
 * One listening socket: passed by systemd, or bound at a path that this process then owns. A lock
 * beside the path says who serves it, so that a live socket is never taken over and a dead one
 * always is. The file appears when the socket listens, not before. Loop thread.
 */
#ifndef STOKER_LOOP_OS_LISTENER_H
#define STOKER_LOOP_OS_LISTENER_H

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

#include "base/fault.h"

struct listener {
	int fd, lock_fd; /* -1 if none */
	int spare_fd;	 /* given up for a moment when descriptors run out, to refuse politely */
	bool bound;	 /* ours to unlink */
	char path[108];
	uv_poll_t poll;
	bool polling;
	void (*on_accept)(struct listener *listener, int fd); /* takes the descriptor over */
	void (*on_refuse)(struct listener *listener, int fd); /* out of descriptors; likewise */
	void *context;
};
#define LISTENER_NULL ((struct listener){.fd = -1, .lock_fd = -1, .spare_fd = -1})

enum {
	LISTENER_E_RUNNING = 1, /* a daemon serves this path; the words have its pid */
	LISTENER_E_PATH,	/* the path cannot be a socket of ours; the words say why */
};

/* Bind `path` with `mode` and `group` (-1: as it comes). 0, a condition or a negative errno. */
int listener_bind(struct listener *listener, const char *path, mode_t mode, gid_t group,
		  struct fault *fault);
/* Serve a descriptor that systemd passed: a Unix socket, or, by the second, one of TCP. */
int listener_adopt(struct listener *listener, int fd, struct fault *fault);
int listener_adopt_port(struct listener *listener, int fd, struct fault *fault);
bool listener_is_unix(int fd);
/* Bind a port of this numeric address; the path is then "127.0.0.1:PORT", or where else this
 * machine reaches it. As listener_bind(). */
int listener_bind_port(struct listener *listener, const char *address, unsigned port,
		       struct fault *fault);
/* Does this machine reach the port by a loopback address? The page is for this machine. */
bool listener_port_is_near(const struct listener *listener);
/* Serve at `path` with what the program before this one gave: its socket and its lock, which are
 * this function's then. False, and both are gone, where that is not the socket which is wanted. */
bool listener_inherit(struct listener *listener, int fd, int lock_fd, const char *path, mode_t mode,
		      gid_t group);
/* Accept nothing any more, but go on listening until listener_stop(). */
void listener_pause(struct listener *listener);
int listener_start(struct listener *listener, uv_loop_t *loop); /* 0 or a negative errno */
/* Now and then: accept again, if there was no descriptor left to do it with. As above. */
int listener_look(struct listener *listener);
void listener_stop(struct listener *listener); /* closes and unlinks; may be called twice */

#endif
