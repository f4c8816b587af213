/* SPDX-License-Identifier: MIT */
#include "client/c/own.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/c/resume.h"

struct own {
	struct own *next;
	char *url, *key, *secret, *token;
	uint64_t expires;
};

static void wipe(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

static void own_free_one(struct own *own)
{
	if (!own)
		return;
	free(own->url);
	wipe(own->key);
	wipe(own->secret);
	wipe(own->token);
	free(own);
}

void own_free(struct own *own)
{
	while (own) {
		struct own *next = own->next;
		own_free_one(own);
		own = next;
	}
}

static struct text text_of(const char *text)
{
	return (struct text){text, strlen(text)};
}

static int own_send(const struct own *own, struct connection *connection, struct fault *fault)
{
	struct message request = message_init(MESSAGE_CREDENTIALS), reply;
	struct message_credentials *credentials = &request.credentials;
	if (connection->socket >= 0 && !connection->takes_credentials)
		return fault_say(fault, -ENOTSUP,
				 "this stokerd is too old to take credentials: update it");
	credentials->seq = connection_seq(connection);
	credentials->url = text_of(own->url);
	credentials->key = text_of(own->key);
	credentials->secret = text_of(own->secret);
	credentials->token = text_of(own->token);
	credentials->expires = own->expires;
	return connection_ask_beside(connection, &request, MESSAGE_OK, CONNECTION_QUIET_MS, &reply,
				     fault);
}

int own_send_all(const struct own *own, struct connection *connection, struct fault *fault)
{
	int r = 0;
	for (; own && r == 0; own = own->next)
		if (!own->expires || own->expires > (uint64_t)time(NULL))
			r = own_send(own, connection, fault);
	return r;
}

int own_put(struct own **own, struct connection *connection, const char *url, const char *key,
	    const char *secret, const char *token, uint64_t expires, bool waits,
	    struct fault *fault)
{
	struct own *fresh = calloc(1, sizeof(*fresh));
	if (fresh)
		*fresh = (struct own){.url = strdup(url),
				      .key = strdup(key),
				      .secret = strdup(secret),
				      .token = strdup(token ? token : ""),
				      .expires = expires};
	bool whole = fresh && fresh->url && fresh->key && fresh->secret && fresh->token;
	int r = whole ? own_send(fresh, connection, fault)
		      : fault_say(fault, -ENOMEM, "out of memory");
	bool next = waits && connection->socket < 0 && resume_passes(r);
	if (r && !next) {
		own_free_one(fresh);
		return r;
	}
	struct own **at = own;
	while (*at && strcmp((*at)->url, url) != 0)
		at = &(*at)->next;
	struct own *before = *at;
	fresh->next = before ? before->next : NULL;
	*at = fresh;
	own_free_one(before);
	return 0;
}
