/* SPDX-License-Identifier: MIT */
/*
 * A bucket: its name, and where it is. That is the region which the daemon's environment says,
 * until the server that is asked there names another one; from then on it is asked there, signed
 * for that. Any number of threads. Asks no server.
 */
#ifndef STOKER_STORAGE_REMOTE_S3_BUCKET_H
#define STOKER_STORAGE_REMOTE_S3_BUCKET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "storage/remote/aws.h"
#include "storage/remote/response.h"

struct s3_bucket {
	char *name;
	struct aws_identity identity;
	struct s3_region {
		char *name, *url; /* of the bucket there, without a slash at its end */
	} home;
	struct s3_region *_Atomic moved; /* NULL: it is at home; else it never changes again */
};

int s3_bucket_new(struct s3_bucket **out, const char *name, size_t size); /* 0 or -ENOMEM */
void s3_bucket_free(struct s3_bucket *bucket);				  /* NULL will do */

const struct s3_region *s3_bucket_region(const struct s3_bucket *bucket);
/* Does the answer send its request to another region, where `asked` is not? Then the bucket is
 * there. */
bool s3_bucket_moves(struct s3_bucket *bucket, const struct s3_region *asked,
		     const struct response *response, const struct buffer *body);
/* The region that an answer names as the bucket's (301, 307, or 400 about the signature), into
 * `out`; empty: none. */
void s3_region_named(const struct response *response, const struct buffer *body,
		     char out[RESPONSE_TEXT_MAX + 1]);

#endif
