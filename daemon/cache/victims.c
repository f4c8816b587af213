// SPDX-License-Identifier: MIT
#include "cache/victims.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define ROOM_FIRST 64

static bool victim_before(const struct victim *a, const struct victim *b)
{
	return a->worth < b->worth || (a->worth == b->worth && a->next_ns > b->next_ns);
}

static void victims_put(struct victims *victims, size_t at, struct victim *victim)
{
	victims->heap[at] = victim;
	victim->at = at;
}

/* Up or down to where it belongs. */
static void victims_sift(struct victims *victims, struct victim *victim)
{
	size_t at = victim->at;
	for (; at > 0 && victim_before(victim, victims->heap[(at - 1) / 2]); at = (at - 1) / 2)
		victims_put(victims, at, victims->heap[(at - 1) / 2]);
	for (size_t child; (child = 2 * at + 1) < victims->count; at = child) {
		if (child + 1 < victims->count &&
		    victim_before(victims->heap[child + 1], victims->heap[child]))
			child++;
		if (!victim_before(victims->heap[child], victim))
			break;
		victims_put(victims, at, victims->heap[child]);
	}
	victims_put(victims, at, victim);
}

int victims_add(struct victims *victims, struct victim *victim)
{
	if (victims->count == victims->room) {
		size_t room = victims->room ? 2 * victims->room : ROOM_FIRST;
		struct victim **heap = reallocarray(victims->heap, room, sizeof(*heap));
		if (!heap)
			return -ENOMEM;
		victims->heap = heap;
		victims->room = room;
	}
	victims_put(victims, victims->count++, victim);
	victims_sift(victims, victim);
	return 0;
}

void victims_remove(struct victims *victims, struct victim *victim)
{
	if (victim->at == VICTIM_NOWHERE)
		return;
	assert(victim->at < victims->count && victims->heap[victim->at] == victim);
	struct victim *last = victims->heap[--victims->count];
	if (last != victim) {
		victims_put(victims, victim->at, last);
		victims_sift(victims, last);
	}
	victim->at = VICTIM_NOWHERE;
}

void victims_move(struct victims *victims, struct victim *victim, uint64_t next_ns)
{
	victim->next_ns = next_ns;
	if (victim->at != VICTIM_NOWHERE)
		victims_sift(victims, victim);
}

struct victim *victims_first(const struct victims *victims)
{
	return victims->count ? victims->heap[0] : NULL;
}

void victims_deinit(struct victims *victims)
{
	free(victims->heap);
	*victims = VICTIMS_NULL;
}

bool victims_try(struct victims_trial *trial, struct victims *victims, struct victim *victim)
{
	if (trial->count == VICTIMS_TRIED_MAX)
		return false;
	trial->from[trial->count] = victims;
	trial->victim[trial->count++] = victim;
	victims_remove(victims, victim);
	return true;
}

void victims_try_end(struct victims_trial *trial)
{
	while (trial->count-- > 0) /* a heap has room for what was in it */
		(void)victims_add(trial->from[trial->count], trial->victim[trial->count]);
}
