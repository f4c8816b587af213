// SPDX-License-Identifier: MIT
#include "stage/stage_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stage/stage_file.h"

#define BUCKETS_FIRST ((size_t)1024) /* a power of two */

int stage_table_init(struct stage_table *table)
{
	*table = (struct stage_table){.bucket_count = BUCKETS_FIRST};
	list_init(&table->origins);
	table->buckets = calloc(BUCKETS_FIRST, sizeof(struct stage_entry *));
	return table->buckets ? 0 : -ENOMEM;
}

void stage_table_deinit(struct stage_table *table)
{
	for (size_t i = 0; table->buckets && i < table->bucket_count; i++)
		while (table->buckets[i])
			stage_table_remove(table, table->buckets[i]);
	list_for_each(origin, next, &table->origins, struct stage_origin, link)
		origin->pinned = origin->pin_kept = false;
	stage_table_tidy(table, NULL);
	free(table->buckets);
	*table = (struct stage_table){0};
}

/* -- origins ---------------------------------------------------------------------------------- */

struct stage_origin *stage_table_origin(struct stage_table *table, uint64_t id)
{
	list_for_each(known, next, &table->origins, struct stage_origin, link)
		if (known->id == id)
			return known;
	struct stage_origin *origin = calloc(1, sizeof(*origin));
	if (!origin)
		return NULL;
	origin->id = id;
	origin->victims = VICTIMS_NULL;
	list_append(&table->origins, &origin->link);
	return origin;
}

void stage_table_tidy(struct stage_table *table, const struct stage_origin *spare)
{
	list_for_each(origin, next, &table->origins, struct stage_origin, link) {
		if (origin == spare || origin->reader || origin->pinned || origin->pin_kept ||
		    victims_first(&origin->victims))
			continue;
		list_remove(&origin->link);
		victims_deinit(&origin->victims);
		free(origin);
	}
}

/* -- entries ---------------------------------------------------------------------------------- */

static struct stage_entry **bucket_of(const struct stage_table *table, const struct digest *object)
{
	size_t hash;
	memcpy(&hash, object->bytes, sizeof(hash));
	return &table->buckets[hash & (table->bucket_count - 1)];
}

/* More buckets, if they can be had. */
static void stage_table_grow(struct stage_table *table)
{
	struct stage_table larger = {.bucket_count = 2 * table->bucket_count};
	larger.buckets = calloc(larger.bucket_count, sizeof(struct stage_entry *));
	if (!larger.buckets)
		return;
	for (size_t i = 0; i < table->bucket_count; i++) {
		struct stage_entry *entry;
		while ((entry = table->buckets[i])) {
			struct stage_entry **bucket = bucket_of(&larger, &entry->object);
			table->buckets[i] = entry->next;
			entry->next = *bucket;
			*bucket = entry;
		}
	}
	free(table->buckets);
	table->buckets = larger.buckets;
	table->bucket_count = larger.bucket_count;
}

struct stage_entry *stage_table_find(const struct stage_table *table, const struct digest *object,
				     uint64_t mark, bool any)
{
	struct stage_entry *entry = *bucket_of(table, object);
	while (entry && !(digest_equal(&entry->object, object) && (any || entry->mark == mark)))
		entry = entry->next;
	return entry;
}

struct stage_entry *stage_table_add(struct stage_table *table, struct stage_origin *origin,
				    const struct digest *object, uint64_t mark, uint64_t size)
{
	struct stage_entry *entry =
		table->count < STAGE_ENTRIES_MAX ? calloc(1, sizeof(*entry)) : NULL;
	if (!entry)
		return NULL;
	*entry = (struct stage_entry){
		.origin = origin, .object = *object, .mark = mark, .size = size};
	entry->victim = (struct victim){0, FORECAST_NEVER, VICTIM_NOWHERE};
	if (victims_add(&origin->victims, &entry->victim)) {
		free(entry);
		return NULL;
	}
	if (table->count >= table->bucket_count)
		stage_table_grow(table);
	struct stage_entry **bucket = bucket_of(table, object);
	entry->next = *bucket;
	*bucket = entry;
	entry->serial = ++table->serial;
	table->count++;
	origin->bytes += stage_file_charge(size);
	return entry;
}

static uint64_t stage_entry_pinned(const struct stage_entry *entry)
{
	return entry->origin->pinned ? stage_file_charge(entry->size) : 0;
}

static void stage_entry_disown(struct stage_entry *entry)
{
	if (!entry->set)
		return;
	entry->set->totals.items--;
	entry->set->totals.bytes -= stage_file_charge(entry->size);
	entry->set->totals.pinned -= stage_entry_pinned(entry);
	entry->set = NULL;
}

void stage_table_remove(struct stage_table *table, struct stage_entry *entry)
{
	struct stage_entry **link = bucket_of(table, &entry->object);
	while (*link != entry)
		link = &(*link)->next;
	*link = entry->next;
	stage_entry_disown(entry);
	victims_remove(&entry->origin->victims, &entry->victim);
	entry->origin->bytes -= stage_file_charge(entry->size);
	table->ahead -= entry->fresh ? stage_file_charge(entry->size) : 0;
	table->count--;
	free(entry);
}

uint64_t stage_table_pinned(const struct stage_table *table)
{
	uint64_t bytes = 0;
	list_for_each(origin, next, &table->origins, struct stage_origin, link)
		bytes += origin->pinned ? origin->bytes : 0;
	return bytes;
}

void stage_table_mark(struct stage_table *table, const struct stage_set *set)
{
	list_for_each(origin, next, &table->origins, struct stage_origin, link)
		origin->marked = origin->reader == set;
	for (size_t i = 0; set->totals.items && i < table->bucket_count; i++)
		for (struct stage_entry *entry = table->buckets[i]; entry; entry = entry->next)
			if (entry->set == set)
				entry->origin->marked = true;
}

void stage_table_count_pins(struct stage_table *table, struct list *sets)
{
	list_for_each(set, next, sets, struct stage_set, link)
		set->totals.pinned = 0;
	for (size_t i = 0; i < table->bucket_count; i++)
		for (struct stage_entry *entry = table->buckets[i]; entry; entry = entry->next)
			if (entry->set)
				entry->set->totals.pinned += stage_entry_pinned(entry);
}

void stage_entry_claim(struct stage_entry *entry, const struct stage_use *use, uint64_t now_ns)
{
	if (entry->set != use->set) {
		stage_entry_disown(entry);
		entry->set = use->set;
		use->set->totals.items++;
		use->set->totals.bytes += stage_file_charge(entry->size);
		use->set->totals.pinned += stage_entry_pinned(entry);
	}
	entry->sample = use->sample;
	struct forecast forecast = forecast_make(&use->set->courses, use->sample, now_ns);
	victims_move(&entry->origin->victims, &entry->victim, forecast_first(&forecast));
}
