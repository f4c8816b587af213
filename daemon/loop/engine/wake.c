// SPDX-License-Identifier: MIT
#include "loop/engine/wake.h"

#include "loop/engine/measure.h"
#include "loop/state/reader.h"
#include "loop/state/ring.h"
#include "loop/state/stream.h"
#include "loop/state/user.h"

void wake_reader(struct reader *reader)
{
	reader->code_wait = false;
	if (reader->slot_wait) {
		reader->slot_wait = false;
		measure_wait(reader);
	}
	flow_enter(reader);
}

static void wake_readers(struct ring *ring)
{
	list_for_each(reader, next, &ring->readers, struct reader, in_ring)
		if (reader->slot_wait || reader->code_wait)
			wake_reader(reader);
}

void wake_ring(struct ring *ring)
{
	/* Each reader that is woken looks at the floor again: not before that helps. */
	if (ring_floor(ring) >= ring->wake_at) {
		ring->wake_at = UINT64_MAX;
		wake_readers(ring);
	}
	list_for_each(stream, next, &ring->stream->sharing, struct stream, sharing)
		list_for_each(other, after, &stream->rings, struct ring, link)
			wake_readers(other);
}
