// SPDX-License-Identifier: MIT
#include "loop/policy/ring_growth.h"

#include "loop/policy/straggler.h"
#include "loop/state/stream.h"

#define HELD_NS 2000000000u /* a trainer begins, or does something else, for less, mostly */
#define SPARE 0.05	    /* below, production is what limits: the end of a batch idles some */
#define HELPED 0.75	    /* of the time before a step: else slots are not what workers lack */

/* Check for strangers: the ring was made for a reader alone, so one that was to share it may have
 * got a ring of its own. */
static bool has_strangers(const struct ring *ring)
{
	list_for_each(other, next, &ring->stream->rings, struct ring, link)
		if (other->stride != ring->stride && other->uid == ring->uid)
			return true;
	return false;
}

bool ring_growth_crowded(const struct ring *ring)
{
	return ring->readers.next != ring->readers.prev || !list_empty(&ring->stream->sharing) ||
	       has_strangers(ring);
}

bool ring_growth_held(const struct reader *reader, uint64_t now_ns)
{
	uint64_t since_ns =
		reader->rested_ns > reader->since_ns ? reader->rested_ns : reader->since_ns;
	bool small = reader->ring->lean ||
		     (!straggler_has_room(reader) && straggler_kept(reader) != NULL);
	return small && now_ns - since_ns >= HELD_NS;
}

bool ring_growth_short(const struct reader *reader, double spare)
{
	double before = reader->ring->spare;
	bool helped = before == 0 || spare < before * HELPED;
	return reader->awaited && spare >= SPARE && helped;
}

bool ring_growth_may_move(const struct reader *reader)
{
	return reader->moves && !reader->move.ring && !reader_ended(reader);
}

static uint64_t place_of(const struct reader *reader)
{
	return share_ordinal(&reader->share, &reader->move.at, reader->ring->stride);
}

const struct reader *ring_growth_hindmost(const struct ring *ring)
{
	const struct reader *hindmost = NULL;
	list_for_each(reader, next, &ring->readers, struct reader, in_ring)
		if (ring_growth_may_move(reader) && reader->move.at.epoch < reader->end_epoch &&
		    (!hindmost || place_of(reader) < place_of(hindmost)))
			hindmost = reader;
	return hindmost;
}

bool ring_growth_fits(const struct ring *ring, const struct ring *larger)
{
	list_for_each(reader, next, &ring->readers, struct reader, in_ring)
		if (ring_growth_may_move(reader) && reader->move.at.epoch < reader->end_epoch &&
		    !straggler_fits(reader, larger))
			return false;
	return true;
}
