// SPDX-License-Identifier: MIT
/* Pins. A pin is a flag of an origin and, so that it outlives the daemon, an empty file in the
 * origin's folder, which stage_pins_write() makes and removes. */
#include "stage/stage_file.h"
#include "stage/stage_state.h"

#define MIB 1048576.0
#define BATCH 16 /* origins, at a time */

bool stage_pins_fit(const struct stage *stage, uint64_t bytes, uint64_t items)
{
	bytes += stage_table_pinned(&stage->table);
	list_for_each(origin, next, &stage->table.origins, struct stage_origin, link)
		items += origin->pinned ? origin->victims.count : 0;
	return bytes <= stage->limits.size / STAGE_PINNED_PART &&
	       items <= stage_most(stage) / STAGE_PINNED_PART;
}

/* Check that the marked origins may be pinned. */
static int stage_may_pin(const struct stage *stage, struct fault *fault)
{
	uint64_t bytes = 0, items = 0;
	list_for_each(origin, next, &stage->table.origins, struct stage_origin, link) {
		if (!origin->marked || origin->pinned)
			continue;
		bytes += origin->bytes;
		items += origin->victims.count;
	}
	if (stage_pins_fit(stage, bytes, items))
		return 0;
	return fault_say(fault, STAGE_E_LIMIT,
			 "%.1f MiB of it are kept on the disk, and %.1f MiB are pinned already: at "
			 "most half of cache-size (%.1f MiB) and %llu files can be pinned; raise "
			 "cache-size, or unpin another dataset",
			 (double)bytes / MIB, (double)stage_table_pinned(&stage->table) / MIB,
			 (double)(stage->limits.size / STAGE_PINNED_PART) / MIB,
			 (unsigned long long)(stage_most(stage) / STAGE_PINNED_PART));
}

int stage_set_pin(struct stage_set *set, bool pinned, struct fault *fault)
{
	struct stage *stage = set->stage;
	unsigned count = 0;
	pthread_mutex_lock(&stage->lock);
	stage_table_mark(&stage->table, set);
	list_for_each(origin, next, &stage->table.origins, struct stage_origin, link)
		count += origin->marked && (origin->bytes || origin->pinned);
	int result = count ? 0
			   : fault_say(fault, STAGE_E_NOTHING,
				       "nothing of it is kept in cache-dir yet: read it once "
				       "with a trainer, or start one");
	if (!result && pinned)
		result = stage_may_pin(stage, fault);
	if (!result) {
		list_for_each(origin, next, &stage->table.origins, struct stage_origin, link)
			origin->pinned = origin->marked ? pinned : origin->pinned;
		stage_table_count_pins(&stage->table, &stage->sets);
	}
	pthread_mutex_unlock(&stage->lock);
	return result;
}

void stage_unpin(struct stage *stage)
{
	pthread_mutex_lock(&stage->lock);
	list_for_each(origin, next, &stage->table.origins, struct stage_origin, link)
		origin->pinned = false;
	stage_table_count_pins(&stage->table, &stage->sets);
	pthread_mutex_unlock(&stage->lock);
}

/* -- on the disk ------------------------------------------------------------------------------ */

struct due {
	uint64_t origin;
	bool pinned;
};

/* Collect the origins whose pin files are not as their flags. */
static unsigned stage_pins_due(struct stage *stage, struct due due[BATCH])
{
	unsigned count = 0;
	pthread_mutex_lock(&stage->lock);
	list_for_each(origin, next, &stage->table.origins, struct stage_origin, link)
		if (origin->pinned != origin->pin_kept && count < BATCH)
			due[count++] = (struct due){origin->id, origin->pinned};
	pthread_mutex_unlock(&stage->lock);
	return count;
}

static void stage_pin_written(struct stage *stage, const struct due *due, int result)
{
	pthread_mutex_lock(&stage->lock);
	list_for_each(origin, next, &stage->table.origins, struct stage_origin, link)
		if (origin->id == due->origin && !result)
			origin->pin_kept = due->pinned;
	if (result) {
		stage->totals.failed++;
		stage->totals.error = -result;
	}
	pthread_mutex_unlock(&stage->lock);
}

void stage_pins_write(struct stage *stage)
{
	struct due due[BATCH];
	unsigned count = stage_pins_due(stage, due);
	for (unsigned i = 0; i < count; i++)
		stage_pin_written(stage, &due[i],
				  stage_file_pin(stage->folder, due[i].origin, due[i].pinned));
}
