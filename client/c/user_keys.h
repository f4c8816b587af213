/* SPDX-License-Identifier: MIT */
/*
 * The caller's own credentials of S3, for a daemon of another user: sent once they are given, and
 * again over each new connection. Owns copies, and wipes them. One thread at a time.
 */
#ifndef STOKER_CLIENT_USER_KEYS_H
#define STOKER_CLIENT_USER_KEYS_H

#include <stdint.h>

#include "client/c/connection.h"

struct user_keys; /* those for one URL, and the next; NULL: none */

/* Keep these in place of earlier ones for the URL, and send them. 0 or a negative errno, as
 * connection_ask(); what the daemon refuses is not kept. With `waits` there will be another
 * connection where this one is lost, over which they are sent. */
int user_keys_put(struct user_keys **keys, struct connection *connection, const char *url,
		  const char *key, const char *secret, const char *token, uint64_t expires,
		  bool waits, struct fault *fault);
/* Send all but those that have expired: others can be given over the connection. */
int user_keys_send_all(const struct user_keys *keys, struct connection *connection,
		       struct fault *fault);
void user_keys_free(struct user_keys *keys); /* all; NULL will do */

#endif
