// SPDX-License-Identifier: MIT
#include "loop/policy/decode_sharing.h"

#include "loop/state/reader.h"
#include "loop/state/ring.h"
#include "loop/state/stream.h"

static bool ring_lacks(struct ring *ring, uint64_t epoch, uint64_t position)
{
	if (position >= ring->stride || !readers_want(ring, epoch, position))
		return false;
	uint64_t ordinal = ring_ordinal(ring, epoch, position);
	if (!ring_holds(ring, ordinal))
		return ring_could_hold(ring, ordinal);
	return ring_slot(ring, ordinal)->state == SLOT_EMPTY;
}

/* The positions of one epoch that show the same picture, in each ring of the streams. */
struct echoes {
	uint64_t epoch, own, position[JOB_SHARERS_MAX];
	uint32_t count;
};

static struct echoes echoes_of(const struct ring *ring, uint64_t epoch, uint64_t position)
{
	const struct stream_order *order = &ring->stream->order;
	struct echoes echoes = {.epoch = epoch, .own = position, .count = 1};
	echoes.position[0] = position;
	if (order->echo > 1 && !ring->stream->alone &&
	    position < stream_positions(order)) { /* no padding */
		echoes.count = order->echo;
		stream_echoes(ring->stream, epoch, position, echoes.position);
	}
	return echoes;
}

/* A mixed sample needs its partner's picture, too, which is read with the job's own position only:
 * an echo of that position cannot share the decode. */
static bool cannot_share(const struct ring *ring, const struct echoes *echoes, uint64_t position)
{
	return ring->stream->order.fields.partners && position != echoes->own;
}

/* Without `own` the echoes' own position does not count: a job is being made for it. */
static unsigned add_sharers(struct ring *ring, const struct echoes *echoes, bool own,
			    struct sharer *out, unsigned count)
{
	for (uint32_t i = 0; i < echoes->count; i++)
		if (count < JOB_SHARERS_MAX - 1 && (own || echoes->position[i] != echoes->own) &&
		    !cannot_share(ring, echoes, echoes->position[i]) &&
		    ring_lacks(ring, echoes->epoch, echoes->position[i]))
			out[count++] = (struct sharer){ring, echoes->position[i]};
	return count;
}

unsigned decode_sharing_find(struct ring *ring, uint64_t epoch, uint64_t position,
			     struct sharer out[JOB_SHARERS_MAX])
{
	const struct echoes echoes = echoes_of(ring, epoch, position);
	unsigned count = add_sharers(ring, &echoes, false, out, 0);
	list_for_each(stream, next, &ring->stream->sharing, struct stream, sharing)
		list_for_each(other, after, &stream->rings, struct ring, link)
			if (other->uid == ring->uid)
				count = add_sharers(other, &echoes, true, out, count);
	return count;
}

static bool ring_lacks_soon(const struct ring *ring, const struct echoes *echoes)
{
	for (uint32_t i = 0; i < echoes->count; i++) {
		uint64_t position = echoes->position[i];
		if (position >= ring->stride || cannot_share(ring, echoes, position) ||
		    !readers_want(ring, echoes->epoch, position))
			continue;
		uint64_t ordinal = ring_ordinal(ring, echoes->epoch, position);
		uint64_t floor = ring_floor(ring);
		if (!ring_holds(ring, ordinal) && ordinal >= floor + ring->slots &&
		    ordinal - floor - ring->slots < ring->slots / 2)
			return true;
	}
	return false;
}

bool decode_sharing_soon(const struct ring *ring, uint64_t epoch, uint64_t position)
{
	const struct echoes echoes = echoes_of(ring, epoch, position);
	if (echoes.count > 1 && ring_lacks_soon(ring, &echoes))
		return true;
	list_for_each(stream, next, &ring->stream->sharing, struct stream, sharing)
		list_for_each(other, after, &stream->rings, struct ring, link)
			if (other->uid == ring->uid && ring_lacks_soon(other, &echoes))
				return true;
	return false;
}
