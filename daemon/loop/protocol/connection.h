/* SPDX-License-Identifier: MIT */
/*
 * A connection: one socket, its bytes and its end. Owns the descriptor, the frame being received,
 * and what is still to be written. It is closed by the other side, by the death of the process
 * there, or by a fault of it, and never from inside a send: whoever speaks to it may go on using it
 * in this iteration. Embedded in a session, which it knows by three functions only. Loop thread.
 */
#ifndef STOKER_LOOP_PROTOCOL_CONNECTION_H
#define STOKER_LOOP_PROTOCOL_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "loop/os/descriptors.h"
#include "loop/protocol/passed_fds.h"
#include "loop/state/outbox.h"
#include "proto/frame.h"
#include "proto/message.h"

struct core;
struct user;

#define CONNECTION_OUT_PAUSE 65536    /* unsent bytes above which nothing more is read from it */
#define CONNECTION_OUT_MAX (1u << 20) /* ... and above which it is cut off */
#define CONNECTION_OUT_FDS 4	      /* descriptors that wait to be sent; one more: cut off */
#define CONNECTION_SCRATCH (FRAME_HEAD + PROTO_FRAME_MAX)

struct connection;

struct connection_events {
	void (*on_frame)(struct connection *connection, const uint8_t *bytes, size_t size);
	void (*on_end)(struct connection *connection);	/* it is being closed */
	void (*on_free)(struct connection *connection); /* libuv has let go: free the memory */
};

struct connection {
	struct outbox outbox;
	struct core *core;
	const struct connection_events *events;
	uint8_t *scratch; /* CONNECTION_SCRATCH bytes, borrowed: one message at a time */
	pid_t pid;
	uid_t uid;
	int fd, pidfd; /* pidfd: -1 if the process cannot be watched */
	uv_poll_t poll, death;
	unsigned handles; /* not closed yet; with the last one on_free() is called */
	bool closing, failed;
	bool greeted; /* HELLO was accepted; set by the session */

	struct frame_reader in;
	struct descriptors in_fds; /* that came with the frame being received */
	uint64_t deadline_ns;	   /* by when HELLO or the rest of a frame must be here; 0: none */

	uint8_t *out; /* [out_sent, out_size) is to be written */
	size_t out_size, out_sent, out_capacity;
	struct {
		int fd;		       /* owned */
		size_t at;	       /* the byte of `out` that it goes with */
	} out_fds[CONNECTION_OUT_FDS]; /* in the order of their bytes */
	unsigned n_out_fds;
	struct passed_fds passed;
	bool grounded; /* the next bytes wait with their descriptor */
};

/* Serve a connected socket; takes the descriptor over, also on failure. 0 or a negative errno: then
 * on_free() is not called. */
int connection_open(struct connection *connection, struct core *core, int fd, pid_t pid, uid_t uid,
		    struct user *user, const struct connection_events *events, uint8_t *scratch);
void connection_close(struct connection *connection); /* at once; may be called twice */

void connection_send(struct connection *connection, const struct message *message);
/* An ERROR; the connection stays. */
void connection_send_error(struct connection *connection, unsigned code, uint64_t seq,
			   const char *text);
/* Say why, then close. */
void connection_fail(struct connection *connection, unsigned code, uint32_t seq, const char *text);
/* Each second: close what has failed, cut off what is late. */
void connection_tick(struct connection *connection, uint64_t now_ns);
/* Refuse a socket that is no connection yet: one message as far as it goes, then close. */
void connection_refuse(int fd, unsigned code, const char *text);

#endif
