/* SPDX-License-Identifier: MIT */
/*
 * The two sockets of the daemon, for trainers and for stokerctl: how they come to be, and who is
 * let in. Owns the server's listeners while it starts; what a peer says is peer.h's. Loop thread.
 */
#ifndef STOKER_LOOP_ACCEPT_H
#define STOKER_LOOP_ACCEPT_H

#include "base/fault.h"
#include "loop/server.h"

void doors_init(struct server *server);

/* Take what systemd passed and bind the rest. 0, a LISTENER_E_* or a negative errno. */
int doors_open(struct server *server, struct fault *fault);
int doors_start(struct server *server); /* accept from now on; 0 or a negative errno */

#endif
