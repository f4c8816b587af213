// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>

#include "stage/stage_state.h"

static _Thread_local struct stage_use current;
static _Thread_local struct stage_reads reads_now;

void stage_use_set(struct stage_set *set, uint64_t sample)
{
	current = (struct stage_use){set, sample, NULL};
	reads_now = (struct stage_reads){0};
}

void stage_use_beside(const struct stage_beside *beside)
{
	current.beside = beside;
}

void stage_use_end(struct stage_reads *reads)
{
	reads->hits += reads_now.hits;
	reads->misses += reads_now.misses;
	stage_use_set(NULL, 0);
}

void stage_use_count(bool hit)
{
	reads_now.hits += hit;
	reads_now.misses += !hit;
}

const struct stage_use *stage_use_now(void)
{
	return current.set ? &current : NULL;
}

/* Closed ones are freed once nothing is kept that they used last. */
static void stage_sets_tidy(struct stage *stage)
{
	list_for_each(set, next, &stage->sets, struct stage_set, link) {
		if (set->holders || set->totals.items)
			continue;
		list_remove(&set->link);
		courses_deinit(&set->courses);
		free(set);
	}
}

int stage_set_new(struct stage_set **out, struct stage *stage, unsigned user)
{
	struct stage_set *set = calloc(1, sizeof(*set));
	if (!set)
		return -ENOMEM;
	set->stage = stage;
	set->user = user;
	set->holders = 1;
	set->ahead = STAGE_AHEAD_FIRST;
	courses_init(&set->courses);
	pthread_mutex_lock(&stage->lock);
	stage_sets_tidy(stage);
	list_append(&stage->sets, &set->link);
	pthread_mutex_unlock(&stage->lock);
	*out = set;
	return 0;
}

struct stage_set *stage_set_hold(struct stage_set *set)
{
	if (!set)
		return NULL;
	pthread_mutex_lock(&set->stage->lock);
	set->holders++;
	pthread_mutex_unlock(&set->stage->lock);
	return set;
}

void stage_set_close(struct stage_set *set)
{
	if (!set)
		return;
	struct stage *stage = set->stage;
	pthread_mutex_lock(&stage->lock);
	if (--set->holders == 0) {
		list_for_each(origin, next, &stage->table.origins, struct stage_origin, link)
			if (origin->reader == set)
				origin->reader = NULL;
		/* What stays for its entries' sake is small: no orders of shards. */
		courses_set(&set->courses, NULL, 0, 0);
		stage_table_tidy(&stage->table, NULL);
	}
	stage_sets_tidy(stage);
	pthread_mutex_unlock(&stage->lock);
}

struct courses *stage_set_courses(struct stage_set *set)
{
	return &set->courses;
}

struct stage_set_totals stage_set_totals(struct stage_set *set)
{
	pthread_mutex_lock(&set->stage->lock);
	struct stage_set_totals totals = set->totals;
	pthread_mutex_unlock(&set->stage->lock);
	return totals;
}

void stage_set_drop(struct stage_set *set)
{
	struct stage *stage = set->stage;
	pthread_mutex_lock(&stage->lock);
	stage_table_mark(&stage->table, set);
	list_for_each(origin, next, &stage->table.origins, struct stage_origin, link)
		if (origin->marked) {
			origin->dropped = true;
			origin->pinned = false;
		}
	stage_table_count_pins(&stage->table, &stage->sets);
	pthread_mutex_unlock(&stage->lock);
}

struct stage *stage_of_set(const struct stage_set *set)
{
	return set->stage;
}
