/* SPDX-License-Identifier: MIT */
/*
 * Parser of S3's answers in XML: a page of list-objects-v2 (with encoding-type=url), and the code
 * of an error. The bytes may be anything. A door to expat. Pure; any thread. Asks no server.
 */
#ifndef STOKER_STORAGE_REMOTE_S3_LIST_H
#define STOKER_STORAGE_REMOTE_S3_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define S3_TEXT_MAX 4095 /* of a key, which S3 limits to 1024 bytes, or of a token */
#define S3_CODE_MAX 63

/* An object, or, if `folder`, a prefix that ends in a slash. False ends the page. */
typedef bool s3_list_take(void *context, const char *key, uint64_t size, bool folder);

enum {
	S3_LIST_E_BAD = 1, /* it is no such page */
};

/* `next_out`: the token of the next page; empty if this is the last. 0, S3_LIST_E_BAD or -ENOMEM.
 */
int s3_list_parse(const void *data, size_t size, s3_list_take *take, void *context,
		  char next_out[S3_TEXT_MAX + 1]);
/* Contents of an error; empty texts: it does not say. */
struct s3_error {
	char code[S3_CODE_MAX + 1];   /* such as NoSuchBucket; letters, digits and '?' */
	char region[S3_CODE_MAX + 1]; /* in which the bucket is, if it was asked for in another */
};
void s3_error_parse(const void *data, size_t size, struct s3_error *out);

#endif
