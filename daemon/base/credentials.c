// SPDX-License-Identifier: MIT
#include "base/credentials.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int credentials_copy(struct credentials *out, const struct credentials *from)
{
	struct credentials copy = *from;
	size_t size = from->group_count * sizeof(*from->groups);
	copy.groups = size ? malloc(size) : NULL;
	if (size && !copy.groups)
		return -ENOMEM;
	if (size)
		memcpy(copy.groups, from->groups, size);
	*out = copy;
	return 0;
}

void credentials_deinit(struct credentials *credentials)
{
	free(credentials->groups);
	*credentials = CREDENTIALS_NULL;
}

bool credentials_is_user(const struct credentials *credentials, uid_t uid)
{
	return credentials->uid == uid && uid != CREDENTIALS_UNMAPPED;
}

bool credentials_is_member(const struct credentials *credentials, gid_t gid)
{
	bool member = credentials->gid == gid;
	for (uint32_t i = 0; i < credentials->group_count && !member; i++)
		member = credentials->groups[i] == gid;
	return member && gid != CREDENTIALS_UNMAPPED;
}

bool credentials_same_rights(const struct credentials *a, const struct credentials *b)
{
	return a->uid == b->uid && a->gid == b->gid && a->group_count == b->group_count &&
	       (a->group_count == 0 ||
		memcmp(a->groups, b->groups, a->group_count * sizeof(*a->groups)) == 0);
}

bool credentials_are_own(const struct credentials *credentials)
{
	return credentials->uid == 0 || credentials_is_user(credentials, geteuid());
}
