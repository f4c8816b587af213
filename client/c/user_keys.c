/* SPDX-License-Identifier: MIT */
#include "client/c/user_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/c/resume.h"

struct user_keys {
	struct user_keys *next;
	char *url, *key, *secret, *token;
	uint64_t expires;
};

static void wipe(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

static void user_keys_free_one(struct user_keys *keys)
{
	if (!keys)
		return;
	free(keys->url);
	wipe(keys->key);
	wipe(keys->secret);
	wipe(keys->token);
	free(keys);
}

void user_keys_free(struct user_keys *keys)
{
	while (keys) {
		struct user_keys *next = keys->next;
		user_keys_free_one(keys);
		keys = next;
	}
}

static struct text text_of(const char *text)
{
	return (struct text){text, strlen(text)};
}

static int user_keys_send(const struct user_keys *keys, struct connection *connection,
			  struct fault *fault)
{
	struct message request = message_init(MESSAGE_CREDENTIALS), reply;
	struct message_credentials *credentials = &request.credentials;
	if (connection->socket >= 0 && !connection->takes_credentials)
		return fault_say(fault, -ENOTSUP,
				 "this stokerd is too old to take credentials: update it");
	credentials->seq = connection_seq(connection);
	credentials->url = text_of(keys->url);
	credentials->key = text_of(keys->key);
	credentials->secret = text_of(keys->secret);
	credentials->token = text_of(keys->token);
	credentials->expires = keys->expires;
	return connection_ask_beside(connection, &request, MESSAGE_OK, CONNECTION_QUIET_MS, &reply,
				     fault);
}

int user_keys_send_all(const struct user_keys *keys, struct connection *connection,
		       struct fault *fault)
{
	int r = 0;
	for (; keys && r == 0; keys = keys->next)
		if (!keys->expires || keys->expires > (uint64_t)time(NULL))
			r = user_keys_send(keys, connection, fault);
	return r;
}

int user_keys_put(struct user_keys **keys, struct connection *connection, const char *url,
		  const char *key, const char *secret, const char *token, uint64_t expires,
		  bool waits, struct fault *fault)
{
	struct user_keys *fresh = calloc(1, sizeof(*fresh));
	if (fresh)
		*fresh = (struct user_keys){.url = strdup(url),
					    .key = strdup(key),
					    .secret = strdup(secret),
					    .token = strdup(token ? token : ""),
					    .expires = expires};
	bool whole = fresh && fresh->url && fresh->key && fresh->secret && fresh->token;
	int r = whole ? user_keys_send(fresh, connection, fault)
		      : fault_say(fault, -ENOMEM, "out of memory");
	bool next = waits && connection->socket < 0 && resume_is_temporary(r);
	if (r && !next) {
		user_keys_free_one(fresh);
		return r;
	}
	struct user_keys **at = keys;
	while (*at && strcmp((*at)->url, url) != 0)
		at = &(*at)->next;
	struct user_keys *before = *at;
	fresh->next = before ? before->next : NULL;
	*at = fresh;
	user_keys_free_one(before);
	return 0;
}
