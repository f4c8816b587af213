/* SPDX-License-Identifier: MIT */
/*
 * Owner of kept pictures: a user, by number, with all sets of that user. Where there is no room for
 * one more, the owner who has the most makes it, the picture that asks counted in: so nobody can
 * take what another one needs to have as much, and a single user may have all of it. The cache's
 * lock is held for all of it, but for what is atomic. Knows no picture.
 */
#ifndef STOKER_CACHE_PICTURE_OWNER_H
#define STOKER_CACHE_PICTURE_OWNER_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/list.h"
#include "cache/victims.h"

struct picture_owners {
	struct list list;
	_Atomic uint64_t count;
};

struct picture_owner {
	struct list link;
	unsigned user;
	unsigned sets;
	uint64_t bytes;		  /* of the pictures that can be found */
	_Atomic uint64_t samples; /* of its open sets */
	struct victims victims;
};

void picture_owners_init(struct picture_owners *owners);

/* The owner, found or made, with one set more; NULL: there is no memory. */
struct picture_owner *picture_owner_get(struct picture_owners *owners, unsigned user);
void picture_owner_put(struct picture_owners *owners, struct picture_owner *owner);

/* Find the owner who gives way to `bytes` more of `asking`; NULL: nobody asks, there is too much.
 * NULL if nobody has anything. */
struct picture_owner *picture_owners_largest(struct picture_owners *owners,
					     struct picture_owner *asking, uint64_t bytes);

#endif
