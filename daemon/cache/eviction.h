/* SPDX-License-Identifier: MIT */
/*
 * Eviction: choice of the picture that gives way: of the owner who has the most, the one that is
 * least worth keeping by what is known now. The cache's lock is held. Changes nothing but places in
 * the heaps of victims.
 */
#ifndef STOKER_CACHE_EVICTION_H
#define STOKER_CACHE_EVICTION_H

#include "cache/picture_cache.h"

/* The next that has to go; NULL: none has to. */
struct cached_picture *eviction_next(struct picture_cache *cache);

/* Does it give way to another one of its owner? `same`: of the same set. */
bool victim_yields(const struct victim *victim, bool same, enum picture_worth worth,
		   const struct picture_use *use);

/* Find what gives way to so many bytes more of this set; NULL: nothing does. */
struct cached_picture *eviction_for(struct picture_set *set, size_t size, enum picture_worth worth,
				    const struct picture_use *use);

#endif
