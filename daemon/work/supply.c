// SPDX-License-Identifier: MIT
#include "work/supply.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void supply_clear(struct supply *supply)
{
	supply->asked = supply->wants = supply->answered = supply->twice = false;
	supply->compared = supply->differs = false;
	supply->count = 0;
}

void supply_deinit(struct supply *supply)
{
	for (unsigned i = 0; i < supply->room; i++)
		buffer_deinit(&supply->made[i].copy);
	free(supply->made);
	buffer_deinit(&supply->picture.bytes);
	*supply = (struct supply){0};
}

void supply_trim(struct supply *supply, size_t keep)
{
	buffer_trim(&supply->picture.bytes, keep);
	for (unsigned i = 0; i < supply->room; i++)
		buffer_trim(&supply->made[i].copy, keep);
}

/* Room for one more; NULL: no memory. */
static struct supplied *supply_add(struct supply *supply)
{
	if (supply->count == supply->room) {
		unsigned room = supply->room ? 2 * supply->room : 1;
		struct supplied *more = realloc(supply->made, room * sizeof(*more));
		if (!more)
			return NULL;
		memset(more + supply->room, 0, (room - supply->room) * sizeof(*more));
		supply->made = more;
		supply->room = room;
	}
	return &supply->made[supply->count++];
}

static void supplied_copy(struct supplied *made)
{
	if (buffer_reserve(&made->copy, made->bytes + 1) < 0) { /* + 1: a record may be empty */
		made->outcome = JOB_MEMORY;
		return;
	}
	memcpy(made->copy.data, made->record, made->bytes);
	made->copy.size = made->bytes;
	made->record = made->copy.data;
}

static struct supplied *find(const struct supply *supply, const struct supply_key *key)
{
	for (unsigned i = 0; i < supply->count; i++) {
		const struct supply_key *other = &supply->made[i].key;
		if (other->mapped == key->mapped && other->sample == key->sample &&
		    other->place.epoch == key->place.epoch &&
		    other->place.position == key->place.position)
			return &supply->made[i];
	}
	return NULL;
}

/* Compare the second record of a sample with the first. One that could not be made again says
 * nothing of it. */
static void supply_compare(struct supply *supply, struct supplied *first)
{
	first->twice = false;
	if (supply->outcome != JOB_DONE)
		return;
	supply->compared = true;
	supply->differs = supply->record_bytes != first->bytes ||
			  memcmp(supply->record, first->record, first->bytes) != 0;
}

static void supply_keep(struct supply *supply, bool copies)
{
	struct supplied *made = supply_add(supply);
	if (!made) /* without memory it is asked for again */
		return;
	made->key = supply->key;
	made->outcome = supply->outcome;
	made->fault = supply->fault;
	made->record = supply->record;
	made->bytes = supply->record_bytes;
	made->twice = supply->twice;
	if ((copies || made->twice) && made->outcome == JOB_DONE)
		supplied_copy(made);
	made->twice = made->twice && made->outcome == JOB_DONE;
}

void supply_take(struct supply *supply, bool copies)
{
	struct supplied *first = find(supply, &supply->key);
	bool answered = supply->answered;
	supply->wants = supply->answered = false;
	if (answered && first)
		supply_compare(supply, first);
	else if (answered)
		supply_keep(supply, copies);
	supply->twice = false;
}

const struct supplied *supply_find(const struct supply *supply, const struct supply_key *key)
{
	return find(supply, key);
}

void supply_spoil(struct supply *supply, uint64_t sample, const struct draw_key *place,
		  enum job_outcome outcome, const struct fault *why)
{
	for (unsigned i = 0; supply->alone && i < supply->count; i++) {
		struct supplied *made = &supply->made[i];
		if (made->outcome != JOB_DONE || made->key.sample != sample ||
		    made->key.place.epoch != place->epoch ||
		    made->key.place.position != place->position)
			continue;
		buffer_deinit(&made->copy);
		made->outcome = outcome;
		made->fault = *why;
	}
}

enum job_outcome supply_want(struct supply *supply, const struct supply_key *key)
{
	if (!supply->wants) {
		supply->wants = true;
		supply->key = *key;
	}
	return JOB_AWAITS;
}
