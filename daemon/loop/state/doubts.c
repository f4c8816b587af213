// SPDX-License-Identifier: MIT
#include "loop/state/doubts.h"

#include <string.h>

#define COUNT (sizeof(((struct doubts *)0)->last) / sizeof(((struct doubts *)0)->last[0]))
#define HOUR_NS (3600 * (uint64_t)1000000000)

void doubts_add(struct doubts *doubts, uid_t uid, const char *path, uint64_t now_ns)
{
	unsigned number = doubts->next++ % COUNT;
	doubts->last[number].path = digest_of(path, strlen(path));
	doubts->last[number].uid = uid;
	doubts->last[number].until_ns = now_ns + HOUR_NS;
}

bool doubts_have(const struct doubts *doubts, uid_t uid, const char *path, uint64_t now_ns)
{
	const struct digest digest = digest_of(path, strlen(path));
	for (unsigned i = 0; i < COUNT; i++)
		if (now_ns < doubts->last[i].until_ns && doubts->last[i].uid == uid &&
		    digest_equal(&doubts->last[i].path, &digest))
			return true;
	return false;
}
