/* SPDX-License-Identifier: MIT */
/*
 * State of a picture set, for the cache's own files; others have picture_cache.h. The cache's lock
 * is held for what is not atomic.
 */
#ifndef STOKER_CACHE_PICTURE_SET_H
#define STOKER_CACHE_PICTURE_SET_H

#include "cache/picture_cache.h"

struct picture_set {
	struct picture_cache *cache;
	struct picture_owner *owner;
	struct list link; /* in cache->sets */
	struct list pictures;
	struct courses courses;
	struct picture_totals totals;
	uint64_t dropped; /* so many of the oldest are to go */
	unsigned users;
	bool closed;
	uint64_t samples;
	/* By sample. calloc() takes memory from the system only for pages that are written. */
	_Atomic(struct cached_picture *) *first;
	_Atomic uint8_t *uses; /* USED, ... */
};

#endif
