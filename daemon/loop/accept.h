/* SPDX-License-Identifier: MIT */
/*
 * The sockets of the daemon, for trainers, for stokerctl and, if they are asked for, for who
 * watches by HTTP (a Unix socket, a port of 127.0.0.1): how they come to be, and which connections
 * are accepted. What a client says is protocol/'s and watch/'s business. Loop thread.
 */
#ifndef STOKER_LOOP_ACCEPT_H
#define STOKER_LOOP_ACCEPT_H

#include <stdint.h>

#include "base/fault.h"
#include "loop/os/listener.h"

struct core;
struct http_server;
struct protocol;
struct successor;

struct accept {
	struct core *core;
	struct protocol *protocol;
	struct http_server *http;
	struct listener data, control;
	struct listener metrics, port; /* not open, if they are not asked for */
};

void accept_init(struct accept *accept, struct core *core, struct protocol *protocol,
		 struct http_server *http);
/* Take what systemd passed and bind the rest. 0, a LISTENER_E_* or a negative errno. */
int accept_open(struct accept *accept, struct fault *fault);
int accept_start(struct accept *accept); /* accept from now on; 0 or a negative errno */
void accept_tick(struct accept *accept); /* again, if there were no descriptors left */
void accept_stop(struct accept *accept); /* no new connection; may be called twice */
/* Stop accepting, but let clients that connect wait for the successor, which gets the sockets. 0,
 * or a condition with words: systemd has made them. */
int accept_give(struct accept *accept, struct successor *successor, struct fault *fault);

#endif
