/* SPDX-License-Identifier: MIT */
/*
 * An ATTACH that is like a stream: its place is shown to the daemon again, by descriptors of what
 * stands there, if the daemon is somebody else's. Asks the daemon where that is.
 */
#ifndef STOKER_CLIENT_LIKE_H
#define STOKER_CLIENT_LIKE_H

#include "client/c/attach.h"

struct connection;

/* `fds` gets the descriptors; NULL: none are wanted, and only whether the daemon knows `like` is
 * checked. 0, -EOPNOTSUPP, or a condition of connection_ask(). */
int like_settle(struct attach *attach, struct connection *connection, struct sent_fds *fds,
		struct fault *fault);

#endif
