/* SPDX-License-Identifier: MIT */
/*
 * A peer: one connection, its bytes and its end. Owns the descriptor, the frame under way, what is
 * still to be written, and through its session all that the other side made the daemon hold. A peer
 * is never closed from inside peer_send(): whoever speaks to it may go on using it in this turn.
 * Loop thread.
 */
#ifndef STOKER_LOOP_PROTOCOL_CONNECTION_H
#define STOKER_LOOP_PROTOCOL_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "base/list.h"
#include "loop/protocol/session.h"
#include "proto/frame.h"
#include "proto/message.h"

struct server;

#define PEER_OUT_PAUSE 65536	/* unsent bytes above which nothing more is read from the peer */
#define PEER_OUT_MAX (1u << 20) /* ... and above which it is cut off */

#define PEER_OUT_FDS 4 /* descriptors that wait to be sent; one more and the peer is cut off */

struct peer {
	uint64_t id;
	struct server *server;
	struct list link; /* in server->peers */
	enum message_socket socket;
	pid_t pid;
	uid_t uid;
	int fd, pidfd; /* pidfd: -1 if the process cannot be watched */
	uv_poll_t poll, death;
	unsigned handles; /* not closed yet; the last one frees the peer */
	bool closing, failed;

	struct frame_reader in;
	uint64_t deadline_ns; /* by when HELLO or the rest of a frame must be here; 0: none */

	uint8_t *out; /* [out_sent, out_size) is to be written */
	size_t out_size, out_sent, out_capacity;
	struct {
		int fd;		 /* owned */
		size_t at;	 /* the byte of `out` that it goes with */
	} out_fds[PEER_OUT_FDS]; /* in the order of their bytes */
	unsigned n_out_fds;

	struct session session;
};

/* Takes the descriptor over, also on failure. */
void peer_new(struct server *server, int fd, enum message_socket socket);
void peer_close(struct peer *peer); /* at once; memory goes when libuv has let go */
void peer_send(struct peer *peer, const struct message *message);
/* The descriptor (duplicated) goes with the message's first byte. */
void peer_send_fd(struct peer *peer, const struct message *message, int fd);
/* An ERROR; the connection stays. */
void peer_send_error(struct peer *peer, unsigned code, uint64_t seq, const char *text);
/* Say why, then close. */
void peer_fail(struct peer *peer, unsigned code, uint32_t seq, const char *text);
void peer_check_deadline(struct peer *peer, uint64_t now_ns);
/* Refuse a connection that has no peer yet: one message as far as it goes, then close. */
void peer_refuse(int fd, unsigned code, const char *text);

#endif
