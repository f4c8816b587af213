// SPDX-License-Identifier: MIT
#include "loop/policy/decode_sharing.h"

#include "loop/server.h"
#include "loop/state/catalog.h"
#include "loop/state/ring.h"
#include "loop/state/stream.h"

/* Is the same read and decoded at each position? What limits a decode may change by `set`. */
static bool kin_alike(const struct stream *a, const struct stream *b)
{
	const struct stream_order *p = &a->order, *q = &b->order;
	const struct decode_limits *l = &a->recipe.limits, *m = &b->recipe.limits;
	return a->entry == b->entry && p->shuffle == q->shuffle && p->order_seed == q->order_seed &&
	       p->first == q->first && p->count == q->count && p->exif == q->exif &&
	       stream_same_samples(p, q) && a->recipe.max_bytes == b->recipe.max_bytes &&
	       l->max_pixels == m->max_pixels &&
	       l->max_coefficient_bytes == m->max_coefficient_bytes &&
	       l->max_scans == m->max_scans && l->deadline_ms == m->deadline_ms;
}

void kin_join(struct stream *stream)
{
	list_init(&stream->sharer);
	list_for_each(other, next, &stream->server->streams, struct stream, link) {
		if (other == stream || !kin_alike(other, stream))
			continue;
		list_append(&other->sharer, &stream->sharer);
		return;
	}
}

void kin_leave(struct stream *stream)
{
	list_remove(&stream->sharer);
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

/* The positions of one epoch where the same picture stands, in each of the kin's rings. */
struct echoes {
	uint64_t epoch, own, position[JOB_SHARERS_MAX];
	uint32_t count;
};

static struct echoes kin_echoes(const struct ring *ring, uint64_t epoch, uint64_t position)
{
	const struct stream_order *order = &ring->stream->order;
	struct echoes echoes = {.epoch = epoch, .own = position, .count = 1};
	echoes.position[0] = position;
	if (order->echo > 1 && position < stream_positions(order)) { /* no padding */
		echoes.count = order->echo;
		stream_echoes(ring->stream, epoch, position, echoes.position);
	}
	return echoes;
}

/* Is this position, which echoes the first one's, of no use for a ring? What is mixed needs a
 * second picture, which stands beside the first for the first's own position only. */
static bool kin_spared(const struct ring *ring, const struct echoes *echoes, uint64_t position)
{
	return ring->stream->order.fields.mixes && position != echoes->own;
}

static unsigned kin_add(struct ring *ring, const struct echoes *echoes, bool own,
			struct sharer *out, unsigned count)
{
	for (uint32_t i = 0; i < echoes->count; i++)
		if (count < JOB_SHARERS_MAX - 1 && !(own && echoes->position[i] == echoes->own) &&
		    !kin_spared(ring, echoes, echoes->position[i]) &&
		    kin_lacks(ring, echoes->epoch, echoes->position[i]))
			out[count++] = (struct sharer){ring, echoes->position[i]};
	return count;
}

unsigned kin_find(struct ring *ring, uint64_t epoch, uint64_t position,
		  struct sharer out[JOB_SHARERS_MAX])
{
	const struct echoes echoes = kin_echoes(ring, epoch, position);
	unsigned count = kin_add(ring, &echoes, true, out, 0);
	list_for_each(stream, next, &ring->stream->sharer, struct stream, sharer)
		list_for_each(other, after, &stream->rings, struct ring, link)
			count = kin_add(other, &echoes, false, out, count);
	return count;
}

static bool kin_nears(const struct ring *ring, const struct echoes *echoes)
{
	for (uint32_t i = 0; i < echoes->count; i++) {
		uint64_t position = echoes->position[i];
		if (position >= ring->stride || kin_spared(ring, echoes, position) ||
		    !ring_wanted(ring, echoes->epoch, position))
			continue;
		uint64_t ordinal = ring_ordinal(ring, echoes->epoch, position);
		uint64_t floor = ring_floor(ring);
		if (!ring_holds(ring, ordinal) && ordinal >= floor + ring->slots &&
		    ordinal - floor - ring->slots < ring->slots / 2)
			return true;
	}
	return false;
}

bool kin_comes(struct ring *ring, uint64_t epoch, uint64_t position)
{
	const struct echoes echoes = kin_echoes(ring, epoch, position);
	if (echoes.count > 1 && kin_nears(ring, &echoes))
		return true;
	list_for_each(stream, next, &ring->stream->sharer, struct stream, sharer)
		list_for_each(other, after, &stream->rings, struct ring, link)
			if (kin_nears(other, &echoes))
				return true;
	return false;
}
