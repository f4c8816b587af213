/* SPDX-License-Identifier: MIT */
/*
 * The text of a URL of data: s3://BUCKET/KEY, http://HOST[:PORT]/PATH and https. What stands in it
 * appears in messages, logs and lists, so one with a user, a password or a query is refused: that
 * is where secrets are. Pure; any thread. Opens nothing.
 *
 * In the path of http and https a % with two hexadecimal digits is what it encodes, any other byte
 * stands for itself; a key of s3 is taken literally.
 */
#ifndef STOKER_BASE_URL_H
#define STOKER_BASE_URL_H

#include <stdbool.h>
#include <stddef.h>

enum url_scheme { URL_NONE, URL_S3, URL_HTTP, URL_HTTPS };

/* By how it begins. */
enum url_scheme url_scheme(const char *url);
/* The host, or the bucket; with the port. It is not terminated. */
const char *url_host(const char *url, size_t *size_out);
/* Path of a URL, behind the host: empty, or it begins with a slash. */
const char *url_path(const char *url);

/* Rewrite in place, never longer: the scheme and the host in small letters, without the scheme's
 * own port and without slashes at the end. */
void url_tidy(char *url);
/* NULL, or why this is no URL that is read. The words do not contain it. */
const char *url_refuse(const char *url);
/* Refuse a path behind the host as above; `literal`: a % stands for itself. */
const char *url_refuse_path(const char *path, bool literal);
/* Is the URL `beneath`, or below it, by their texts? Both are tidy. */
bool url_is_beneath(const char *url, const char *beneath);

/* Encode `size` bytes of a path for a request; `literal`: a % stands for itself. `out` has room for
 * 3 * size + 1 bytes; terminated. Returns the length. */
size_t url_encode(char *out, const char *path, size_t size, bool literal);

#endif
