// SPDX-License-Identifier: MIT
#include "storage/remote/s3_bucket.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "storage/remote/s3_list.h"

static void region_clear(struct s3_region *region)
{
	free(region->url);
	free(region->name);
}

/* 0 or -ENOMEM. */
static int region_fill(struct s3_region *region, const struct s3_bucket *bucket, const char *name)
{
	struct aws_identity there = bucket->identity;
	region->name = there.region = strdup(name);
	region->url = region->name ? aws_bucket_url(&there, bucket->name) : NULL;
	return region->url ? 0 : -ENOMEM;
}

int s3_bucket_new(struct s3_bucket **out, const char *name, size_t size)
{
	struct s3_bucket *bucket = calloc(1, sizeof(*bucket));
	if (!bucket)
		return -ENOMEM;
	atomic_init(&bucket->moved, NULL);
	bucket->name = strndup(name, size);
	if (!bucket->name || aws_identity_find(&bucket->identity) ||
	    region_fill(&bucket->home, bucket, bucket->identity.region)) {
		s3_bucket_free(bucket);
		return -ENOMEM;
	}
	*out = bucket;
	return 0;
}

void s3_bucket_free(struct s3_bucket *bucket)
{
	if (!bucket)
		return;
	struct s3_region *moved = atomic_load(&bucket->moved);
	if (moved)
		region_clear(moved);
	free(moved);
	region_clear(&bucket->home);
	aws_identity_deinit(&bucket->identity);
	free(bucket->name);
	free(bucket);
}

const struct s3_region *s3_bucket_region(const struct s3_bucket *bucket)
{
	const struct s3_region *moved = atomic_load(&bucket->moved);
	return moved ? moved : &bucket->home;
}

/* Check a region, which becomes a part of a host's name. */
static bool is_region(const char *name)
{
	size_t size = strlen(name);
	return size > 0 && size <= 32 && name[0] != '-' && name[size - 1] != '-' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == size;
}

void s3_region_named(const struct response *response, const struct buffer *body,
		     char out[RESPONSE_TEXT_MAX + 1])
{
	struct s3_error error;
	const char *name = response->region;
	out[0] = '\0';
	if (response->status != 301 && response->status != 307 && response->status != 400)
		return;
	s3_error_parse(body->data, body->size, &error);
	if (response->status == 400 && strcmp(error.code, "AuthorizationHeaderMalformed") != 0)
		return;
	if (!*name)
		name = error.region;
	if (is_region(name))
		strcpy(out, name);
}

bool s3_bucket_moves(struct s3_bucket *bucket, const struct s3_region *asked,
		     const struct response *response, const struct buffer *body)
{
	char name[RESPONSE_TEXT_MAX + 1];
	s3_region_named(response, body, name);
	if (!*name || strcmp(name, asked->name) == 0)
		return false;
	if (asked != &bucket->home) /* once is enough */
		return false;
	struct s3_region *none = NULL, *moved = calloc(1, sizeof(*moved));
	if (moved && !region_fill(moved, bucket, name) &&
	    atomic_compare_exchange_strong(&bucket->moved, &none, moved))
		return true;
	if (moved)
		region_clear(moved);
	free(moved);
	return none; /* another thread was told, too */
}
