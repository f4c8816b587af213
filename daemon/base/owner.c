// SPDX-License-Identifier: MIT
#include "base/owner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/credentials.h"

uint32_t owner_of(uid_t uid)
{
	const struct credentials credentials = {.uid = uid};
	return credentials_are_own(&credentials) ? OWNER_OF_ALL : uid;
}

void owner_mark(char out[OWNER_MARK_MAX], uint32_t owner)
{
	out[0] = '\0';
	if (owner != OWNER_OF_ALL)
		snprintf(out, OWNER_MARK_MAX, "@%u", (unsigned)owner);
}

uint32_t owner_of_file(const char *name)
{
	const char *mark = strrchr(name, '@');
	return mark ? (uint32_t)strtoul(mark + 1, NULL, 10) : OWNER_OF_ALL;
}
