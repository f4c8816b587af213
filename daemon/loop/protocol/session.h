/* SPDX-License-Identifier: MIT */
/*
 * Sessions: begin with a connection, dispatch each message by one table (which message, on which
 * socket, in which states, to whom), and end by giving back all that the client held. Loop thread;
 * knows no bytes on the wire.
 */
#ifndef STOKER_LOOP_PROTOCOL_SESSION_H
#define STOKER_LOOP_PROTOCOL_SESSION_H

#include <stdint.h>

#include "loop/protocol/session_state.h"

/* 0 or a negative errno. */
int protocol_init(struct protocol *protocol, struct core *core);
void protocol_deinit(struct protocol *protocol); /* no session is left */
/* Each second: progress of what takes long, deadlines, leases that were held for too long. */
void protocol_tick(struct protocol *protocol, uint64_t now_ns);
/* The daemon stops: tell the clients, cancel their INDEX and FIT requests. */
void protocol_stop(struct protocol *protocol, const char *why);
void protocol_close_all(struct protocol *protocol);

/* Serve a socket that was accepted; takes the descriptor over. If it cannot, it tells the client.
 */
void session_new(struct protocol *protocol, int fd, struct credentials *credentials,
		 enum message_socket socket);

#endif
