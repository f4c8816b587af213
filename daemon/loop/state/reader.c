// SPDX-License-Identifier: MIT
#include "loop/state/reader.h"

#include <assert.h>

#include "loop/state/core.h"

static void reader_set_claim(struct reader *reader)
{
	reader->claim.ordinal = reader_ended(reader) ? UINT64_MAX
						     : share_ordinal(&reader->share, &reader->next,
								     reader->ring->stride);
}

/* End the reader where its ring, or the wire, can count no further. */
static void reader_limit_end(struct reader *reader)
{
	uint64_t most = ring_epochs(reader->ring->stride);
	most = most < READER_EPOCHS_MAX ? most : READER_EPOCHS_MAX;
	if (reader->share.last == LAST_WRAP) /* its last batch has samples of the epoch after it */
		most--;
	if (reader->end_epoch > most)
		reader->end_epoch = most;
}

void reader_enter(struct reader *reader, struct ring *ring)
{
	assert(!reader->ring && ring_backs(ring, &reader->share, &reader->next));
	reader->ring = ring;
	reader_limit_end(reader);
	list_append(&ring->readers, &reader->in_ring);
	ring_claim(ring, &reader->claim, 0);
	reader_set_claim(reader);
}

void reader_exit(struct reader *reader)
{
	struct ring *ring = reader->ring;
	list_remove(&reader->in_ring);
	ring_unclaim(ring, &reader->claim);
	reader->claim.ordinal = UINT64_MAX;
	reader->ring = NULL;
	ring->lost_reader = true;
	reader_forget_left(reader);
	if (ring->segment.transport == SEGMENT_PATH) {
		ring->openers++;
		reader->left = ring;
	}
}

void reader_forget_left(struct reader *reader)
{
	if (!reader->left)
		return;
	reader->left->openers--;
	ring_touch(reader->left);
	reader->left = NULL;
}

void reader_advance(struct reader *reader)
{
	share_advance(&reader->share, &reader->next);
	reader_set_claim(reader);
}

void reader_touch(struct reader *reader)
{
	if (reader->ring && list_empty(&reader->in_due))
		list_append(&reader->ring->core->due, &reader->in_due);
}

bool readers_want(const struct ring *ring, uint64_t epoch, uint64_t position)
{
	list_for_each(reader, next, &ring->readers, struct reader, in_ring)
		if (share_has(&reader->share, &reader->next, reader->end_epoch, epoch, position))
			return true;
	return false;
}
