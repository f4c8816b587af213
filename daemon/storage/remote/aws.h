/* SPDX-License-Identifier: MIT */
/*
 * Endpoint of S3 and credentials that are written down, found as AWS' tools find them: the
 * environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION,
 * AWS_DEFAULT_REGION, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL), then the profile AWS_PROFILE in
 * ~/.aws/credentials and ~/.aws/config (AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE). Credentials
 * that a service gives: see key_source.h.
 *
 * Owns the secrets, and wipes them. Nothing of it is ever put into a message. Reads files; any
 * thread.
 */
#ifndef STOKER_STORAGE_REMOTE_AWS_H
#define STOKER_STORAGE_REMOTE_AWS_H

#include <stdbool.h>

struct aws_identity {
	/* Owned; key, secret and token are NULL if there are none. */
	char *key, *secret, *token;
	char *region;	/* "us-east-1" if none is said */
	char *endpoint; /* a URL without a slash at its end; NULL: that of AWS */
	bool virtual_style;
	const char
		*lacks; /* a setting of the profile by which nobody gets credentials here; NULL */
};
#define AWS_IDENTITY_NULL ((struct aws_identity){0})

int aws_identity_find(struct aws_identity *out); /* 0 or -ENOMEM */
void aws_identity_deinit(struct aws_identity *identity);

/* The URL of a bucket, without a slash at its end; the caller's. NULL: no memory. */
char *aws_bucket_url(const struct aws_identity *identity, const char *bucket);
/* URL of the service that gives credentials in a region; as above, but for a slash. */
char *aws_sts_url(const char *region);

#endif
