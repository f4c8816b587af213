/* SPDX-License-Identifier: MIT */
/*
 * Headers of an HTTP response that describe an object, parsed line by line as they come; a line may
 * have any bytes. Pure; any thread. Knows no socket and no library.
 */
#ifndef STOKER_STORAGE_REMOTE_RESPONSE_H
#define STOKER_STORAGE_REMOTE_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/fault.h"
#include "storage/storage.h"

#define RESPONSE_TEXT_MAX 63

struct response {
	unsigned status;
	bool has_length, has_range, encoded, has_modified, has_tag;
	uint64_t length;	     /* Content-Length */
	uint64_t first, last, total; /* Content-Range; total is STORAGE_TO_END if it is unknown */
	int64_t modified;	     /* Last-Modified, seconds */
	struct digest tag;	     /* of a strong ETag */
	uint64_t retry_after;	     /* seconds; 0: not said */
	char type[RESPONSE_TEXT_MAX + 1];   /* Content-Type */
	char region[RESPONSE_TEXT_MAX + 1]; /* of an S3 bucket, if the request named another one */
};

/* Take one line of the head. A status line clears the response: it begins another. */
void response_take(struct response *response, const char *line, size_t size);
/* Make the version of an object of `size` bytes. 0, or STORAGE_E_READ: no header tells its versions
 * apart. */
int response_version(const struct response *response, uint64_t size, struct storage_version *out,
		     struct fault *fault);

#endif
