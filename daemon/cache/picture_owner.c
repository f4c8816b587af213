// SPDX-License-Identifier: MIT
#include "cache/picture_owner.h"

#include <assert.h>
#include <stdlib.h>

void picture_owners_init(struct picture_owners *owners)
{
	*owners = (struct picture_owners){0};
	list_init(&owners->list);
}

struct picture_owner *picture_owner_get(struct picture_owners *owners, unsigned user)
{
	list_for_each(known, next, &owners->list, struct picture_owner, link) {
		if (known->user != user)
			continue;
		known->sets++;
		return known;
	}
	struct picture_owner *owner = calloc(1, sizeof(*owner));
	if (!owner)
		return NULL;
	owner->user = user;
	owner->sets = 1;
	owner->victims = VICTIMS_NULL;
	list_append(&owners->list, &owner->link);
	atomic_fetch_add(&owners->count, 1);
	return owner;
}

void picture_owner_put(struct picture_owners *owners, struct picture_owner *owner)
{
	if (!owner || --owner->sets > 0)
		return;
	assert(owner->bytes == 0);
	list_remove(&owner->link);
	atomic_fetch_sub(&owners->count, 1);
	victims_deinit(&owner->victims);
	free(owner);
}

struct picture_owner *picture_owners_largest(struct picture_owners *owners,
					     struct picture_owner *asking, uint64_t bytes)
{
	struct picture_owner *largest = asking;
	uint64_t most = asking ? asking->bytes + bytes : 0;
	list_for_each(owner, next, &owners->list, struct picture_owner, link) {
		if (owner == asking || owner->bytes <= most || !victims_first(&owner->victims))
			continue;
		largest = owner;
		most = owner->bytes;
	}
	return largest;
}
