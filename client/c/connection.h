/* SPDX-License-Identifier: MIT */
/*
 * One connection to the daemon, as messages: the bytes to be sent, the frame that is being
 * received, and the descriptor that came with it. Blocks only in poll(), never raises SIGPIPE,
 * restarts calls that a signal interrupted. One thread at a time; where its owner has a lock,
 * others may send while it waits. Knows no batch and no ring.
 *
 * Every call returns 0 or a negative errno, explained in `fault`. After a failure the connection is
 * closed, and later calls repeat the reason; except after -EAGAIN, -ENOMEM, and an ERROR of the
 * daemon. A daemon that is silent in a wait is sent PING; if it stays so for 5 s, a line on stderr
 * says that, once in the wait, which goes on.
 */
#ifndef STOKER_CLIENT_CONNECTION_H
#define STOKER_CLIENT_CONNECTION_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/c/address.h"
#include "client/c/backlog.h"
#include "client/c/fault.h"
#include "client/c/pulse.h"
#include "proto/frame.h"
#include "proto/message.h"

#define CONNECTION_QUIET_MS 30000    /* longest wait for an answer that needs no work */
#define CONNECTION_GREETING_MS 10000 /* ... and for the first, before another socket is tried */

struct connection {
	int socket;		 /* owned; -1: closed */
	char where[ADDRESS_MAX]; /* the path of its socket, for people; the opener sets it */
	pthread_mutex_t *lock;	 /* borrowed, of its owner; let go while it waits; NULL: none */
	int passed; /* owned; a descriptor that was received and not taken yet, or -1 */
	struct frame_reader in;
	const uint8_t *last; /* the payload of the last frame, within `in` */
	size_t last_size;
	struct backlog backlog; /* what came while it waited for an answer */
	struct decoder_memory *memory;
	uint8_t *out; /* owned; bytes that the socket has not taken yet */
	size_t out_size, out_capacity;
	const int
		*give; /* borrowed; `give_count` descriptors go with the byte `give_at` of `out` */
	unsigned give_count;
	size_t give_at;
	bool takes_fds; /* the daemon takes descriptors, and has use for ours; the opener sets it */
	bool takes_credentials; /* the opener sets it, too */
	bool resizes;		/* it knows the word resize; likewise */
	bool takes_like;	/* it knows the field like; likewise */
	uint32_t seq;
	struct pulse pulse;
	int64_t until; /* of clock_ms(): no answer is waited for any longer; 0: no limit */
	int lost;      /* the errno that closed it; 0: never opened */
	struct fault why;
	uint8_t frame[PROTO_FRAME_MAX + FRAME_HEAD];
};

void connection_init(struct connection *connection);
void connection_deinit(struct connection *connection); /* may be called twice */

/* Take over a connected, non-blocking socket, and send HELLO with the name `client`, to be answered
 * as by connection_ask(). An earlier one is closed. `welcome_out` borrows until the next receive.
 */
int connection_open(struct connection *connection, int socket, const char *client, int quiet_ms,
		    struct message *welcome_out, struct fault *fault);
/* Does the daemon name this capability? */
bool connection_can(const struct message_welcome *welcome, const char *capability);
void connection_close(struct connection *connection);

/* Has a message been kept, so that connection_receive() returns at once? */
static inline bool connection_kept(const struct connection *connection)
{
	return connection->backlog.count > 0;
}

/* Send these descriptors with the next message; they are borrowed until its answer. */
void connection_give(struct connection *connection, const int *fds, unsigned count);
/* Queue a message and send what the socket takes. */
int connection_send(struct connection *connection, const struct message *message,
		    struct fault *fault);
int connection_flush(struct connection *connection, struct fault *fault);
static inline bool connection_pending(const struct connection *connection)
{
	return connection->out_size > 0;
}

/* Receive the next message; waits timeout_ms (-1: for ever). It borrows until the next call here.
 * -EAGAIN: none came in time. */
int connection_receive(struct connection *connection, int timeout_ms, struct message *out,
		       struct fault *fault);

/* Give a batch back. As connection_send(). */
int connection_release(struct connection *connection, uint64_t lease, struct fault *fault);

/*
 * Send a request and wait for its answer, which must be of the kind `wanted`. Fails with -ETIMEDOUT
 * if no message comes for quiet_ms, and closes the connection, because the answer could still come.
 * Other messages (PROGRESS, RING, any other seq, and those kept before) are dropped; a BATCH is
 * released. An ERROR becomes an errno, see words.h.
 */
int connection_ask(struct connection *connection, const struct message *request,
		   enum message_kind wanted, int quiet_ms, struct message *out,
		   struct fault *fault);
/* Ask while batches may come: other messages are kept, and connection_receive() gives them first.
 */
int connection_ask_beside(struct connection *connection, const struct message *request,
			  enum message_kind wanted, int quiet_ms, struct message *out,
			  struct fault *fault);
uint32_t connection_seq(struct connection *connection); /* a number for the next request */

/* Take the descriptor that came with the last message; the caller owns it. -1: there is none. */
int connection_take_fd(struct connection *connection);

/* Close because the daemon violated the protocol: -EPROTO. */
__attribute__((format(printf, 3, 4))) int
connection_broken(struct connection *connection, struct fault *fault, const char *format, ...);

#endif
