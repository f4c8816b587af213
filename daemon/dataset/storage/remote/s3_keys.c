// SPDX-License-Identifier: MIT
#include "dataset/storage/remote/s3_keys.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

void s3_keys_wipe(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

struct s3_keys *s3_keys_new(const char *key, const char *secret, const char *token, int64_t expires)
{
	struct s3_keys *keys = calloc(1, sizeof(*keys));
	if (!keys)
		return NULL;
	bool has_token = token && *token;
	atomic_init(&keys->holders, 1);
	keys->key = strdup(key);
	keys->secret = strdup(secret);
	keys->token = has_token ? strdup(token) : NULL;
	keys->expires = expires;
	if (keys->key && keys->secret && (keys->token || !has_token))
		return keys;
	s3_keys_drop(keys);
	return NULL;
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
	s3_keys_wipe(keys->key);
	s3_keys_wipe(keys->secret);
	s3_keys_wipe(keys->token);
	free(keys);
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
