/* SPDX-License-Identifier: MIT */
/*
 * The caller's own credentials of S3, for a daemon of another user: sent once they are given, and
 * again over each new connection. Owns copies, and wipes them. One thread at a time.
 */
#ifndef STOKER_CLIENT_OWN_H
#define STOKER_CLIENT_OWN_H

#include <stdint.h>

#include "client/c/connection.h"

struct own; /* those for one URL, and the next; NULL: none */

/* Keep these in place of earlier ones for the URL, and send them. 0 or a negative errno, as
 * connection_ask(); what the daemon refuses is not kept. With `waits` there will be another
 * connection where this one is lost, over which they are sent. */
int own_put(struct own **own, struct connection *connection, const char *url, const char *key,
	    const char *secret, const char *token, uint64_t expires, bool waits,
	    struct fault *fault);
/* Send all but those that have expired: others can be given over the connection. */
int own_send_all(const struct own *own, struct connection *connection, struct fault *fault);
void own_free(struct own *own); /* all; NULL will do */

#endif
