/* SPDX-License-Identifier: MIT */
/*
 * Passed descriptors: those that were sent to a client, or wait to be, and that it has not read.
 * The kernel counts them for the daemon's user and refuses to send any more to anybody above its
 * RLIMIT_NOFILE; so they are counted for each connection and user, and one that would be too many
 * waits, with all that stands behind it, until the client reads.
 *
 * The kernel says only whether a client has read everything. A client that waits for an answer has;
 * so what waits leaves at the next look: with each message that the client sends, and each second.
 * A connection that ends while its client has not read lingers: its descriptors count on, until the
 * client reads them or closes its end. Loop thread.
 */
#ifndef STOKER_LOOP_PROTOCOL_PASSED_FDS_H
#define STOKER_LOOP_PROTOCOL_PASSED_FDS_H

#include <stdbool.h>

struct core;
struct user;

#define PASSED_FDS_MAX 8 /* of one connection */

/* Descriptors of one connection. */
struct passed_fds {
	struct core *core;
	struct user *user;     /* the session's; NULL on the control socket, where none are sent */
	unsigned sent, queued; /* since the client was last seen to have read all; not sent yet */
};

/* Has the peer of this Unix socket read all that was sent? True where the kernel does not say. */
bool passed_fds_all_read(int fd);

void passed_fds_queue(struct passed_fds *passed); /* one waits to be sent */
/* May one more be sent on this socket? */
bool passed_fds_may_send(struct passed_fds *passed, int fd);
void passed_fds_send(struct passed_fds *passed); /* it was sent */
/* The connection ends: what waits is lost. Closes the socket, once nothing of it is in flight. */
void passed_fds_end(struct passed_fds *passed, int fd);

/* Close what lingered and is not in flight any more; `all`: whatever is. */
void passed_fds_look_all(struct core *core, bool all);

#endif
