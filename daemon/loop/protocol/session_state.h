/* SPDX-License-Identifier: MIT */
/*
 * A session: what a client has said so far on its connection, and all that it made the daemon hold;
 * and what all sessions share. Loop thread.
 *
 *   NEW --HELLO--> READY --ATTACH--> ATTACHING --(ATTACHED)--> ATTACHED --DETACH--> READY
 *                    ^                   | DETACH, or an error that names the ATTACH
 *                    +-------------------+
 *                  READY --PRODUCE--> PRODUCING --DETACH--> READY
 */
#ifndef STOKER_LOOP_PROTOCOL_SESSION_STATE_H
#define STOKER_LOOP_PROTOCOL_SESSION_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/credentials.h"
#include "base/fault.h"
#include "base/list.h"
#include "loop/protocol/connection.h"
#include "loop/state/lease.h"
#include "loop/watch/writer.h"
#include "proto/message.h"

struct attachment;
struct config;
struct core;
struct decoder_memory;
struct index_request;
struct packer;
struct producer;
struct reader;
struct user;
struct watch;

enum session_state {
	SESSION_NEW = 1,
	SESSION_READY = 2,
	SESSION_ATTACHING = 4,
	SESSION_ATTACHED = 8,
	SESSION_PRODUCING = 16,
};

/* State that all sessions share. */
struct protocol {
	struct core *core;
	struct list sessions;				/* struct session, ids rising */
	unsigned data_connections, control_connections; /* that are open */
	uint64_t started_ns;
	const char *socket; /* path of the data socket */
	/* Where who watches may ask; "": nowhere. */
	const char *metrics_socket, *metrics_port;
	struct watch *watch;

	/* Memory of one message at a time. */
	struct decoder_memory *memory;	     /* of what came */
	struct packer *packer, *items;	     /* of what is answered */
	uint8_t scratch[CONNECTION_SCRATCH]; /* on its way to a connection's buffer */

	/* What only the server can do. */
	struct {
		void (*stop)(struct protocol *protocol, const char *why);
		int (*upgrade)(struct protocol *protocol, struct fault *fault);
		/* Change a live setting. 0, or a condition with words. */
		int (*set)(struct protocol *protocol, const char *name, const char *value,
			   struct fault *fault);
		/* See settings_reload(). */
		int (*reload)(struct protocol *protocol, const char *why, struct config *other_out,
			      struct fault *fault);
	} server;
};

struct session {
	struct connection connection;
	struct protocol *protocol;
	struct credentials credentials; /* whose it is */
	struct list link;		/* in protocol->sessions */
	uint64_t id;
	enum message_socket socket;
	enum session_state state;
	char client[64];		     /* what it calls itself */
	struct user *user;		     /* held; NULL on the control socket */
	struct attachment *attachment;	     /* in ATTACHING */
	struct reader *reader;		     /* in ATTACHED */
	struct index_request *index_request; /* begun in READY: an INDEX or a FIT */
	struct producer *producer;	     /* in PRODUCING */
	struct lease_book leases;	     /* in any state: they outlive their reader */
	bool long_lease_warned;
	struct writer metrics; /* a list that it asks for page by page */
};

#endif
