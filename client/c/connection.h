/* SPDX-License-Identifier: MIT */
/*
 * One connection to the daemon, seen as messages: what waits to be sent, the frame that is coming,
 * the descriptor that came with it. Never blocks in a system call but poll(), never raises SIGPIPE,
 * takes up what a signal interrupted. One thread at a time. Knows no batch and no ring.
 *
 * Every call gives 0 or a negative errno with words. After anything but -EAGAIN, -ENOMEM and what
 * an ERROR of the daemon's means, the connection is closed, and later calls repeat why.
 */
#ifndef STOKER_CLIENT_CONNECTION_H
#define STOKER_CLIENT_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/c/backlog.h"
#include "client/c/fault.h"
#include "proto/frame.h"
#include "proto/message.h"

#define CONNECTION_QUIET_MS 30000 /* for answers that need no work */

struct connection {
	int socket; /* owned; -1: closed */
	int passed; /* owned; a descriptor that came and was not taken, or -1 */
	struct frame_reader in;
	const uint8_t *last; /* the last frame's payload, in there */
	size_t last_size;
	struct backlog backlog; /* what came while an answer was waited for */
	struct decoder_memory *memory;
	uint8_t *out; /* owned; what the socket did not take yet */
	size_t out_size, out_capacity;
	uint32_t seq;
	int lost; /* the errno that closed it; 0: never opened */
	struct fault why;
	uint8_t frame[PROTO_FRAME_MAX + FRAME_HEAD];
};

void connection_init(struct connection *connection);
void connection_deinit(struct connection *connection); /* may be called twice */

/* Take over a connected socket, which must not block, and say HELLO on it by the name of `client`.
 * An earlier one is closed. `welcome_out` borrows until the next receive. */
int connection_open(struct connection *connection, int socket, const char *client,
		    struct message *welcome_out, struct fault *fault);
void connection_close(struct connection *connection);

/* Is there a message that needs no waiting for? */
static inline bool connection_kept(const struct connection *connection)
{
	return connection->backlog.count > 0;
}

/* Queue a message and send what the socket takes. */
int connection_send(struct connection *connection, const struct message *message,
		    struct fault *fault);
int connection_flush(struct connection *connection, struct fault *fault);
static inline bool connection_pending(const struct connection *connection)
{
	return connection->out_size > 0;
}

/*
 * The next message, waiting timeout_ms (-1: without end). It borrows until the next call here.
 * -EAGAIN: none came in time.
 */
int connection_receive(struct connection *connection, int timeout_ms, struct message *out,
		       struct fault *fault);

/* Give a batch back. As connection_send(). */
int connection_release(struct connection *connection, uint64_t lease, struct fault *fault);

/*
 * Send a request and wait for its answer, which must be of the kind `wanted`, for as long as not
 * more than quiet_ms go by without a message. PROGRESS, RING and whatever has another seq is
 * dropped, a BATCH given back; so is what was kept before.
 * -ETIMEDOUT closes: the answer could still come. An ERROR is an errno, see words.h.
 */
int connection_ask(struct connection *connection, const struct message *request,
		   enum message_kind wanted, int quiet_ms, struct message *out,
		   struct fault *fault);
/* The same, while batches may come: what comes and is no answer is kept, and connection_receive()
 * gives it first. */
int connection_ask_beside(struct connection *connection, const struct message *request,
			  enum message_kind wanted, int quiet_ms, struct message *out,
			  struct fault *fault);
uint32_t connection_seq(struct connection *connection); /* a number for the next request */

/* The descriptor that came with the last message, now the caller's; -1 if none did. */
int connection_take_fd(struct connection *connection);

/* Close because of what the other end said: -EPROTO. */
__attribute__((format(printf, 3, 4))) int
connection_broken(struct connection *connection, struct fault *fault, const char *format, ...);

#endif
