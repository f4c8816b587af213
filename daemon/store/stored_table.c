// SPDX-License-Identifier: MIT
#include "store/stored_table.h"

#include <stdlib.h>

#include "cache/eviction.h"
#include "store/stored_name.h"

static struct stored_picture **store_bucket(struct picture_store *store, const struct stamp *stamp)
{
	return &store->table[stamp_mark(stamp) & (store->buckets - 1)];
}

struct stored_picture *store_look(struct picture_store *store, const struct stored_key *key,
				  bool any)
{
	struct stored_picture *picture = *store_bucket(store, &key->stamp);
	while (picture &&
	       !(stamp_equal(&picture->key.stamp, &key->stamp) && picture->key.exif == key->exif &&
		 picture->key.file == (key->file && !any) &&
		 (any ? picture->written : key->file || picture->key.scale == key->scale)))
		picture = picture->next;
	return picture;
}

/* Twice as many buckets, if there are more pictures. Without memory it gets slower. */
static void store_grow(struct picture_store *store)
{
	struct stored_picture **before = store->table;
	size_t count = store->buckets;
	struct stored_picture **table = calloc(2 * count, sizeof(*table));
	if (!table)
		return;
	store->table = table;
	store->buckets = 2 * count;
	for (size_t i = 0; i < count; i++) {
		for (struct stored_picture *picture = before[i], *next; picture; picture = next) {
			struct stored_picture **bucket = store_bucket(store, &picture->key.stamp);
			next = picture->next;
			picture->next = *bucket;
			*bucket = picture;
		}
	}
	free(before);
}

struct stored_picture *store_add(struct picture_store *store, const struct stored_name *name,
				 uint64_t size)
{
	struct picture_owner *owner = picture_owner_get(&store->owners, name->user);
	struct stored_picture *picture = owner ? calloc(1, sizeof(*picture)) : NULL;
	if (!picture) {
		picture_owner_put(&store->owners, owner);
		return NULL;
	}
	if (store->count >= store->buckets)
		store_grow(store);
	picture->key = name->key;
	picture->size = size;
	picture->owner = owner;
	picture->victim = (struct victim){name->worth, FORECAST_NEVER, VICTIM_NOWHERE};
	list_init(&picture->expected);
	struct stored_picture **bucket = store_bucket(store, &name->key.stamp);
	picture->next = *bucket;
	*bucket = picture;
	store->count++;
	owner->bytes += size;
	atomic_fetch_add(&store->bytes, size);
	return picture;
}

void store_show(struct picture_store *store, struct stored_picture *picture)
{
	picture->written = true;
	(void)victims_add(&picture->owner->victims, &picture->victim); /* else it stays */
	atomic_fetch_add(&store->pictures, 1);
}

void store_expect(struct picture_store *store, struct stored_picture *picture, uint64_t next_ns)
{
	victims_move(&picture->owner->victims, &picture->victim, next_ns);
	list_remove(&picture->expected);
	if (next_ns != FORECAST_NEVER)
		list_append(&store->expected, &picture->expected);
}

void store_take_out(struct picture_store *store, struct stored_picture *picture)
{
	struct stored_picture **at = store_bucket(store, &picture->key.stamp);
	while (*at != picture)
		at = &(*at)->next;
	*at = picture->next;
	store->count--;
	list_remove(&picture->expected);
	victims_remove(&picture->owner->victims, &picture->victim);
	if (picture->written)
		atomic_fetch_sub(&store->pictures, 1);
}

struct stored_picture *store_worst(struct picture_store *store, uint64_t size,
				   const struct stored_claim *claim)
{
	struct picture_owner *asking = picture_owner_get(&store->owners, claim->user);
	if (!asking)
		return NULL;
	struct picture_owner *owner = picture_owners_largest(&store->owners, asking, size);
	struct victim *victim = victims_first(&owner->victims);
	bool other = owner != asking;
	picture_owner_put(&store->owners, asking);
	if (!victim)
		return NULL;
	struct stored_picture *picture = list_entry(victim, struct stored_picture, victim);
	bool same = picture->set == claim->set && picture->victim.next_ns != FORECAST_NEVER;
	/* Perhaps of a dataset that nobody reads any more: else it would stay for good. */
	if (!picture->set && forecast_first(&claim->use->forecast) != FORECAST_NEVER)
		return picture;
	return other || victim_yields(victim, same, claim->worth, claim->use) ? picture : NULL;
}

bool store_displaces(struct picture_store *store, uint64_t size, const struct stored_claim *claim)
{
	uint64_t limit = atomic_load(&store->limit), bytes = atomic_load(&store->bytes) + size;
	struct victims_trial trial = {.count = 0};
	struct stored_picture *worst;
	while (bytes > limit && (worst = store_worst(store, size, claim)) &&
	       victims_try(&trial, &worst->owner->victims, &worst->victim))
		bytes -= worst->size;
	bool enough = bytes <= limit || trial.count == VICTIMS_TRIED_MAX;
	victims_try_end(&trial);
	return enough;
}
