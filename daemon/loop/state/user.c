// SPDX-License-Identifier: MIT
#include "loop/state/user.h"

#include <stdlib.h>

#include "loop/server.h"

struct user *user_get(struct server *server, uid_t uid)
{
	list_for_each(user, next, &server->users, struct user, link)
		if (user->uid == uid)
			return user;
	struct user *user = calloc(1, sizeof(*user));
	if (!user)
		return NULL;
	user->uid = uid;
	list_init(&user->turns);
	list_init(&user->in_line);
	list_init(&user->hungry);
	list_append(&server->users, &user->link);
	return user;
}

void user_put(struct user *user)
{
	if (!list_empty(&user->turns))
		return;
	list_remove(&user->link);
	list_remove(&user->in_line);
	free(user);
}

bool user_full(const struct server *server, const struct user *user)
{
	unsigned limit = server->config->queued_per_user;
	return limit && user->queued >= limit;
}
