// SPDX-License-Identifier: MIT
#include "storage/remote/s3_keys.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

void s3_keys_wipe(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

/* Behind what is there; NULL gives NULL. */
static char *add_text(char **to, const char *text)
{
	char *start = *to;
	if (!text)
		return NULL;
	*to = stpcpy(start, text) + 1;
	return start;
}

struct s3_keys *s3_keys_new(const char *key, const char *secret, const char *token, int64_t expires)
{
	if (token && !*token)
		token = NULL;
	size_t bytes = sizeof(struct s3_keys) + strlen(key) + strlen(secret) +
		       (token ? strlen(token) : 0) + 3;
	struct s3_keys *keys =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (keys == MAP_FAILED)
		return NULL;
	(void)madvise(keys, bytes, MADV_DONTDUMP); /* a kernel without it dumps them */
	char *to = (char *)(keys + 1);
	atomic_init(&keys->holders, 1);
	keys->bytes = bytes;
	keys->expires = expires;
	keys->key = add_text(&to, key);
	keys->secret = add_text(&to, secret);
	keys->token = add_text(&to, token);
	return keys;
}

struct s3_keys *s3_keys_hold(struct s3_keys *keys)
{
	if (keys)
		atomic_fetch_add(&keys->holders, 1);
	return keys;
}

void s3_keys_drop(struct s3_keys *keys)
{
	if (!keys || atomic_fetch_sub(&keys->holders, 1) != 1)
		return;
	size_t bytes = keys->bytes;
	explicit_bzero(keys, bytes);
	munmap(keys, bytes);
}

bool s3_keys_equal(const struct s3_keys *a, const struct s3_keys *b)
{
	if (!a || !b)
		return a == b;
	return strcmp(a->key, b->key) == 0 && strcmp(a->secret, b->secret) == 0 &&
	       strcmp(a->token ? a->token : "", b->token ? b->token : "") == 0;
}

bool s3_keys_parse_time(const char *text, int64_t *out)
{
	struct tm tm = {0};
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (rest && *rest == '.')
		rest += 1 + strspn(rest + 1, "0123456789");
	if (!rest || (strcmp(rest, "Z") != 0 && strcmp(rest, "+00:00") != 0))
		return false;
	*out = timegm(&tm);
	return true;
}
