/* SPDX-License-Identifier: MIT */
/*
 * One set of credentials of S3: an access key, its secret and the session token, and until when
 * they are good. Never changed once made; freed with its last holder, and wiped before that. Any
 * thread. Knows no source, and writes no log.
 */
#ifndef STOKER_STORAGE_REMOTE_S3_KEYS_H
#define STOKER_STORAGE_REMOTE_S3_KEYS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct s3_keys {
	atomic_uint holders;
	size_t bytes;		    /* of its memory, which is in no core dump */
	char *key, *secret, *token; /* the token is NULL if there is none */
	int64_t expires;	    /* seconds of the time of day; S3_KEYS_FOREVER */
};
#define S3_KEYS_FOREVER INT64_MAX

/* `token` may be NULL or empty. NULL: no memory. */
struct s3_keys *s3_keys_new(const char *key, const char *secret, const char *token,
			    int64_t expires);
struct s3_keys *s3_keys_hold(struct s3_keys *keys); /* one more holder; NULL stays NULL */
void s3_keys_drop(struct s3_keys *keys);	    /* NULL will do */
bool s3_keys_equal(const struct s3_keys *a, const struct s3_keys *b);

/* Wipe and free a text with a secret, which may be NULL. */
void s3_keys_wipe(char *text);
/* "2026-11-23T17:00:00Z", as AWS writes it, in seconds; false: it is no such time. */
bool s3_keys_parse_time(const char *text, int64_t *out);

#endif
