// SPDX-License-Identifier: MIT
#include "stage/stage_victim.h"

#define LOOKS 8 /* entries that are looked at again to find one that gives way */

static bool entry_is_known(const struct stage_entry *entry)
{
	return entry->set && entry->set->holders > 0;
}

/* Predict the next use of an entry, whose place in the heap is as old as its last use. */
static uint64_t entry_next_ns(const struct stage_entry *entry, uint64_t now_ns)
{
	if (!entry_is_known(entry))
		return FORECAST_NEVER;
	struct forecast forecast = forecast_make(&entry->set->courses, entry->sample, now_ns);
	return forecast_first(&forecast);
}

/* Find the origin's entry that is needed last, or NULL. */
static struct stage_entry *origin_last(struct stage_origin *origin, uint64_t now_ns)
{
	struct victim *victim = victims_first(&origin->victims);
	for (unsigned i = 0; victim && i < LOOKS; i++) {
		struct stage_entry *entry = list_entry(victim, struct stage_entry, victim);
		victims_move(&origin->victims, victim, entry_next_ns(entry, now_ns));
		if (victims_first(&origin->victims) == victim)
			break;
		victim = victims_first(&origin->victims);
	}
	return victim ? list_entry(victim, struct stage_entry, victim) : NULL;
}

/* The origin with anything that nobody has open and that was used longest ago, or NULL. */
static struct stage_origin *oldest_closed(const struct stage_table *table,
					  const struct stage_origin *spare)
{
	struct stage_origin *oldest = NULL;
	list_for_each(origin, next, &table->origins, struct stage_origin, link) {
		if (origin == spare || origin->pinned || (origin->reader && !origin->dropped) ||
		    !victims_first(&origin->victims))
			continue;
		if (!oldest || origin->used_ns < oldest->used_ns)
			oldest = origin;
	}
	return oldest;
}

/* Does anything of it give way while it is open? What is pinned is no user's part, either. */
static bool origin_counts(const struct stage_origin *origin)
{
	return origin->reader && !origin->pinned;
}

/* By its bytes and its entries, of which there are no more than the limits allow either. */
static uint64_t origin_weight(const struct stage_table *table, const struct stage_origin *origin)
{
	return origin->bytes + origin->victims.count * table->each;
}

/* Sum of the weights of all origins that this user has open; the asking one is counted in. */
static uint64_t weight_of_user(const struct stage_table *table, unsigned user,
			       const struct stage_asker *asker)
{
	bool asks = asker && asker->use->set->user == user;
	uint64_t weight = asks ? asker->bytes + table->each : 0;
	list_for_each(origin, next, &table->origins, struct stage_origin, link)
		if (origin_counts(origin) && origin->reader->user == user)
			weight += origin_weight(table, origin);
	return weight;
}

/* Find the user whose origins have the most; the asking one, if nobody has more. */
static unsigned largest_user(const struct stage_table *table, const struct stage_asker *asker)
{
	unsigned largest = asker ? asker->use->set->user : 0;
	uint64_t most = asker ? weight_of_user(table, largest, asker) : 0;
	list_for_each(origin, next, &table->origins, struct stage_origin, link) {
		if (!origin_counts(origin) || !victims_first(&origin->victims))
			continue;
		uint64_t weight = weight_of_user(table, origin->reader->user, asker);
		if (weight <= most)
			continue;
		largest = origin->reader->user;
		most = weight;
	}
	return largest;
}

static struct stage_entry *user_last(const struct stage_table *table, unsigned user,
				     uint64_t now_ns)
{
	struct stage_entry *last = NULL;
	list_for_each(origin, next, &table->origins, struct stage_origin, link) {
		struct stage_entry *entry = NULL;
		if (origin_counts(origin) && origin->reader->user == user)
			entry = origin_last(origin, now_ns);
		if (entry && (!last || entry->victim.next_ns > last->victim.next_ns))
			last = entry;
	}
	return last;
}

/* Shall it give way to what its own user needs? */
static bool entry_yields(const struct stage_entry *entry, const struct stage_asker *asker,
			 uint64_t now_ns)
{
	const struct stage_use *use = asker->use;
	struct forecast forecast = forecast_make(&use->set->courses, use->sample, now_ns);
	/* Of one stream each sample is needed once an epoch. */
	if (entry->origin == asker->origin && forecast.count < 2)
		return false;
	return forecast_first(&forecast) < entry->victim.next_ns;
}

struct stage_entry *stage_victim_for(const struct stage_table *table,
				     const struct stage_asker *asker, uint64_t now_ns)
{
	struct stage_origin *closed = oldest_closed(table, asker->origin);
	if (closed)
		return origin_last(closed, now_ns);
	unsigned user = largest_user(table, asker);
	struct stage_entry *last = user_last(table, user, now_ns);
	if (last && (user != asker->use->set->user || entry_yields(last, asker, now_ns)))
		return last;
	return NULL;
}

/* Find the last needed pinned entry of the origin that has the most, for the limits' sake. */
static struct stage_entry *pinned_last(const struct stage_table *table, uint64_t now_ns)
{
	struct stage_origin *largest = NULL;
	list_for_each(origin, next, &table->origins, struct stage_origin, link)
		if (origin->pinned && (!largest || origin->bytes > largest->bytes))
			largest = origin;
	return largest ? origin_last(largest, now_ns) : NULL;
}

struct stage_entry *stage_victim_any(const struct stage_table *table, uint64_t now_ns)
{
	struct stage_origin *closed = oldest_closed(table, NULL);
	struct stage_entry *last = closed ? origin_last(closed, now_ns)
					  : user_last(table, largest_user(table, NULL), now_ns);
	return last ? last : pinned_last(table, now_ns);
}
