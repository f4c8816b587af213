// SPDX-License-Identifier: MIT
#include "stage/stage_room.h"

#include <sys/statvfs.h>

#include "base/clock.h"
#include "stage/stage_state.h"

#define LARGEST_PART 4 /* of the budget, of one item */

struct stage_file stage_file_of(const struct stage_entry *entry)
{
	return (struct stage_file){entry->origin->id, entry->mark, entry->size, entry->object};
}

void stage_take_out(struct stage *stage, struct stage_entry *entry, struct stage_leavers *leavers)
{
	leavers->bytes += stage_file_charge(entry->size);
	stage->leaving += stage_file_charge(entry->size);
	leavers->file[leavers->count++] = stage_file_of(entry);
	stage_table_remove(&stage->table, entry);
}

void stage_leave(struct stage *stage, const struct stage_leavers *leavers)
{
	for (unsigned i = 0; i < leavers->count; i++)
		stage_file_remove(stage->folder, &leavers->file[i]);
	pthread_mutex_lock(&stage->lock);
	stage->bytes -= leavers->bytes;
	stage->leaving -= leavers->bytes;
	pthread_mutex_unlock(&stage->lock);
}

/* Bytes of the file system that are free. Blocks: without the lock. */
static uint64_t stage_available(const struct stage *stage)
{
	struct statvfs found;
	if (fstatvfs(stage->folder, &found) < 0)
		return UINT64_MAX; /* a write will tell */
	return (uint64_t)found.f_bavail * found.f_frsize;
}

uint64_t stage_room(const struct stage *stage, uint64_t spare)
{
	uint64_t available = stage_available(stage);
	return available > spare ? available - spare : 0;
}

/* Bytes that have to go. The lock is held. */
static uint64_t stage_excess(const struct stage *stage, uint64_t available)
{
	uint64_t size = stage->limits.size, spare = stage->limits.spare;
	uint64_t bytes = stage->bytes - stage->leaving;
	uint64_t above = bytes > size ? bytes - size : 0;
	uint64_t lacking = available < spare ? spare - available : 0;
	return above > lacking ? above : lacking;
}

/* Find an entry that was dropped, or that has to go for lack of room. The lock is held. */
static struct stage_entry *stage_entry_to_go(struct stage *stage, uint64_t excess, uint64_t gone)
{
	list_for_each(origin, next, &stage->table.origins, struct stage_origin, link) {
		struct victim *victim = origin->dropped ? victims_first(&origin->victims) : NULL;
		if (victim)
			return list_entry(victim, struct stage_entry, victim);
		origin->dropped = false;
	}
	bool many = stage->table.count > stage_most(stage);
	return many || gone < excess ? stage_victim_any(&stage->table, clock_ns()) : NULL;
}

void stage_trim(struct stage *stage)
{
	struct stage_leavers leavers;
	stage_pins_write(stage);
	do {
		struct stage_entry *entry;
		leavers.count = 0;
		leavers.bytes = 0;
		uint64_t available = stage_available(stage);
		pthread_mutex_lock(&stage->lock);
		uint64_t excess = stage_excess(stage, available);
		while (leavers.count < STAGE_LEAVERS_MAX &&
		       (entry = stage_entry_to_go(stage, excess, leavers.bytes)))
			stage_take_out(stage, entry, &leavers);
		stage_table_tidy(&stage->table, NULL);
		pthread_mutex_unlock(&stage->lock);
		stage_leave(stage, &leavers);
	} while (leavers.count == STAGE_LEAVERS_MAX);
}

/* Would enough give way to an item? Else nothing is to go for it. With more than a trial takes it
 * is assumed. The lock is held. */
static bool stage_displaces(struct stage *stage, const struct stage_asker *asker, uint64_t now_ns)
{
	uint64_t limit = stage->limits.size, bytes = stage->bytes - stage->leaving + asker->bytes;
	struct victims_trial trial = {.count = 0};
	struct stage_entry *entry;
	while (bytes > limit && (entry = stage_victim_for(&stage->table, asker, now_ns)) &&
	       victims_try(&trial, &entry->origin->victims, &entry->victim)) {
		entry->origin->bytes -= stage_file_charge(entry->size);
		bytes -= stage_file_charge(entry->size);
	}
	bool enough = bytes <= limit || trial.count == VICTIMS_TRIED_MAX;
	for (unsigned i = 0; i < trial.count; i++) {
		entry = list_entry(trial.victim[i], struct stage_entry, victim);
		entry->origin->bytes += stage_file_charge(entry->size);
	}
	victims_try_end(&trial);
	return enough;
}

bool stage_make_room(struct stage *stage, const struct stage_asker *asker,
		     struct stage_leavers *leavers, uint64_t now_ns)
{
	uint64_t limit = stage->limits.size;
	if (asker->bytes > limit / LARGEST_PART || !stage_displaces(stage, asker, now_ns))
		return false;
	if (asker->origin->pinned && !stage_pins_fit(stage, asker->bytes, 1))
		return false;
	while (stage->bytes - stage->leaving + asker->bytes > limit ||
	       stage->table.count >= stage_most(stage)) {
		struct stage_entry *entry = leavers->count < STAGE_LEAVERS_MAX
						    ? stage_victim_for(&stage->table, asker, now_ns)
						    : NULL;
		if (!entry)
			return false;
		stage_take_out(stage, entry, leavers);
		stage->totals.replaced++;
	}
	return true;
}
