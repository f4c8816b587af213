/* SPDX-License-Identifier: MIT */
/*
 * One user's own credentials of S3, as clients of that user sent them: each for what lies beneath a
 * URL, the last ones sent for it. In memory only, and wiped when they are replaced or the last
 * holder goes. A URL once named stays: what was opened with a user's own credentials is never
 * asked for with the daemon's.
 *
 * Any thread. Who takes those that have expired waits for others, some seconds. Asks no server.
 */
#ifndef STOKER_STORAGE_REMOTE_USER_KEYS_H
#define STOKER_STORAGE_REMOTE_USER_KEYS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"
#include "proto/value.h"

#define USER_KEYS_MAX 32      /* URLs of a user */
#define USER_KEYS_WAIT_S 10   /* for others, from when the user's first expired */
#define USER_KEYS_AGAIN_S 300 /* from then until any of the user's is waited for once more */

enum {
	USER_KEYS_E_BAD = 1, /* no URL of S3, no credentials, or they have expired */
	USER_KEYS_E_FULL,
	USER_KEYS_E_EXPIRED,
};

struct user_key; /* of one URL; lives as long as the whole */
struct user_keys;
struct s3_keys;

struct user_keys *user_keys_new(uid_t uid);		       /* NULL: no memory */
struct user_keys *user_keys_hold(struct user_keys *user_keys); /* NULL stays NULL */
void user_keys_drop(struct user_keys *user_keys);	       /* NULL will do */

/* Credentials as a client sends them; `expires` is in seconds of the time of day, 0: never. */
struct user_keys_offer {
	struct text url, key, secret, token;
	uint64_t expires;
};
/* Take them in place of earlier ones. 0, USER_KEYS_E_BAD, USER_KEYS_E_FULL or -ENOMEM; the words
 * have no secret. */
int user_keys_put(struct user_keys *user_keys, const struct user_keys_offer *offer,
		  struct fault *fault);

/* The longest of its URLs that a tidy path is beneath, and what is kept for it; NULL: none. */
const char *user_keys_cover(struct user_keys *user_keys, const char *path);
struct user_key *user_keys_find(struct user_keys *user_keys, const char *path);
/* Count refusals of any of them as credentials so far; and ask: were those kept for a path refused
 * after that, and not replaced since? */
uint64_t user_keys_refusals(struct user_keys *user_keys);
bool user_keys_refused_since(struct user_keys *user_keys, const char *path, uint64_t refusals);

/* Take the credentials to sign with, the caller's to drop. 0 or USER_KEYS_E_EXPIRED. */
int user_key_take(struct user_key *key, struct s3_keys **out, struct fault *fault);
/* A server says that these have expired: wait for others. False: there are none. */
bool user_key_renew(struct user_key *key, const struct s3_keys *expired);
/* A server refuses these as credentials. */
void user_key_refuse(struct user_key *key, const struct s3_keys *keys);

/* Nobody waits any longer: the daemon ends. */
void user_keys_stop(void);

#endif
