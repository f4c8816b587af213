/* SPDX-License-Identifier: MIT */
/*
 * A session: what a peer has said so far and what it may say next. One table row a message: the
 * states in which it may come, and who handles it. Loop thread; knows no bytes on the wire.
 *
 *   NEW --HELLO--> READY --ATTACH--> ATTACHING --(ATTACHED)--> ATTACHED --DETACH--> READY
 *                    ^                   | DETACH, or an error that names the ATTACH
 *                    +-------------------+
 */
#ifndef STOKER_LOOP_PROTOCOL_SESSION_H
#define STOKER_LOOP_PROTOCOL_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "proto/message.h"

struct peer;
struct reader;
struct attachment;
struct visit;

enum session_state {
	SESSION_NEW = 1,
	SESSION_READY = 2,
	SESSION_ATTACHING = 4,
	SESSION_ATTACHED = 8,
};

struct session {
	struct peer *peer;
	enum session_state state;
	char client[64];	       /* what it calls itself */
	struct attachment *attachment; /* in ATTACHING */
	struct reader *reader;	       /* in ATTACHED */
	struct visit *visit;	       /* begun in READY: an INDEX or a FIT */
	struct list leases;	       /* in any state: they outlive their reader ... */
	unsigned n_leases;	       /* ... and are so many */
	struct list spare_leases;      /* for reuse */
	uint64_t last_lease;
	bool long_lease_told;
};

void session_init(struct session *session, struct peer *peer);
/* Leave what is attached or being attached; leases stay. */
void session_detach(struct session *session);
/* Give back all that the peer holds. */
void session_end(struct session *session);
void session_frame(struct session *session, const uint8_t *bytes, size_t size);
/* Has it held a batch for too long? Then it is told, and cut off. */
void session_check_leases(struct session *session, uint64_t now_ns);
bool session_greeted(const struct session *session);

/* Answer a request: an error that leaves the connection as it is, or OK. */
void session_error(struct session *session, unsigned code, uint64_t seq, const char *text);
void session_ok(struct session *session, uint64_t seq);

#endif
