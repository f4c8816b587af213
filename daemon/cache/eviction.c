// SPDX-License-Identifier: MIT
#include "cache/eviction.h"

#include "base/clock.h"
#include "cache/picture_set.h"

#define LOOKS 8 /* pictures that are looked at to find one to replace */

/* Find the owner's picture that is least worth keeping, by what is known now. Its place in the heap
 * is as old as its last use; a few are computed again. */
static struct cached_picture *picture_owner_worst(struct picture_owner *owner, uint64_t now_ns)
{
	struct victims *victims = &owner->victims;
	struct victim *victim = victims_first(victims);
	for (unsigned i = 0; victim && i < LOOKS; i++) {
		struct cached_picture *picture = list_entry(victim, struct cached_picture, victim);
		struct forecast forecast =
			forecast_make(&picture->set->courses, picture->key.sample, now_ns);
		victims_move(victims, victim, forecast_first(&forecast));
		if (victims_first(victims) == victim)
			break;
		victim = victims_first(victims);
	}
	return victim ? list_entry(victim, struct cached_picture, victim) : NULL;
}

struct cached_picture *eviction_next(struct picture_cache *cache)
{
	struct picture_owner *largest = picture_owners_largest(&cache->owners, NULL, 0);
	if (atomic_load(&cache->bytes) > atomic_load(&cache->limit) && largest)
		return picture_owner_worst(largest, clock_ns());
	list_for_each(set, next, &cache->sets, struct picture_set, link)
		if ((set->closed || set->dropped > 0) && !list_empty(&set->pictures))
			return list_entry(set->pictures.next, struct cached_picture, link);
	return NULL;
}

bool victim_yields(const struct victim *victim, bool same, enum picture_worth worth,
		   const struct picture_use *use)
{
	static const unsigned uses[] = {
		[PICTURE_OF_INDEXED] = 3, [PICTURE_OF_SLOW] = 1, [PICTURE_FILE] = 4};
	if (use->room_only || victim->worth > worth)
		return false;
	if (victim->worth < worth)
		return true;
	/* Of one stream each sample is needed once an epoch. */
	if (same && use->forecast.count < 2)
		return false;
	return forecast_before(&use->forecast, victim->next_ns) >= (use->idle ? 1 : uses[worth]);
}

/* Shall it give way to another one of this set? */
static bool picture_yields(const struct cached_picture *picture, const struct picture_set *set,
			   enum picture_worth worth, const struct picture_use *use)
{
	if (picture->pins > 0)
		return false;
	if (picture->set->owner != set->owner) /* who has more */
		return true;
	return victim_yields(&picture->victim, picture->set == set, worth, use);
}

struct cached_picture *eviction_for(struct picture_set *set, size_t size, enum picture_worth worth,
				    const struct picture_use *use)
{
	struct picture_owner *owner = picture_owners_largest(&set->cache->owners, set->owner, size);
	struct cached_picture *worst = picture_owner_worst(owner, use->now_ns);
	return worst && picture_yields(worst, set, worth, use) ? worst : NULL;
}
