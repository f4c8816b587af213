// SPDX-License-Identifier: MIT
#include "loop/kin.h"

#include "loop/catalog.h"
#include "loop/ring.h"
#include "loop/server.h"
#include "loop/stream.h"

/* Is the same read and decoded at each position? What limits a decode may change by `set`. */
static bool kin_alike(const struct stream *a, const struct stream *b)
{
	const struct stream_order *p = &a->order, *q = &b->order;
	const struct decode_limits *l = &a->recipe.limits, *m = &b->recipe.limits;
	return a->entry == b->entry && p->shuffle == q->shuffle && p->order_seed == q->order_seed &&
	       p->first == q->first && p->count == q->count && p->exif == q->exif &&
	       a->recipe.max_bytes == b->recipe.max_bytes && l->max_pixels == m->max_pixels &&
	       l->max_coefficient_bytes == m->max_coefficient_bytes &&
	       l->max_scans == m->max_scans && l->deadline_ms == m->deadline_ms;
}

void kin_join(struct stream *stream)
{
	list_init(&stream->kin);
	list_for_each(other, next, &stream->server->streams, struct stream, link) {
		if (other == stream || !kin_alike(other, stream))
			continue;
		list_append(&other->kin, &stream->kin);
		return;
	}
}

void kin_leave(struct stream *stream)
{
	list_remove(&stream->kin);
}

/* The window moves for it no further than it would for its own readers. */
static bool kin_holds(struct ring *ring, uint64_t ordinal)
{
	if (ordinal < ring->base)
		return false;
	return ring_holds(ring, ordinal) ||
	       (ordinal - ring_floor(ring) < ring->slots && ring_reach(ring, ordinal));
}

static bool kin_lacks(struct ring *ring, uint64_t epoch, uint64_t position)
{
	if (position >= ring->stride || !ring_wanted(ring, epoch, position))
		return false;
	uint64_t ordinal = ring_ordinal(ring, epoch, position);
	return kin_holds(ring, ordinal) && ring_slot(ring, ordinal)->state == SLOT_EMPTY;
}

unsigned kin_find(const struct ring *ring, uint64_t epoch, uint64_t position, struct ring **out,
		  unsigned max)
{
	unsigned count = 0;
	list_for_each(stream, next, &ring->stream->kin, struct stream, kin)
		list_for_each(other, after, &stream->rings, struct ring, link)
			if (count < max && kin_lacks(other, epoch, position))
				out[count++] = other;
	return count;
}

static bool kin_nears(const struct ring *ring, uint64_t epoch, uint64_t position)
{
	if (position >= ring->stride || !ring_wanted(ring, epoch, position))
		return false;
	uint64_t ordinal = ring_ordinal(ring, epoch, position), floor = ring_floor(ring);
	return !ring_holds(ring, ordinal) && ordinal >= floor + ring->slots &&
	       ordinal - floor - ring->slots < ring->slots / 2;
}

bool kin_comes(const struct ring *ring, uint64_t epoch, uint64_t position)
{
	list_for_each(stream, next, &ring->stream->kin, struct stream, kin)
		list_for_each(other, after, &stream->rings, struct ring, link)
			if (kin_nears(other, epoch, position))
				return true;
	return false;
}
