// SPDX-License-Identifier: MIT
#include "loop/state/lease.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "loop/protocol/session.h"
#include "loop/server.h"
#include "loop/state/reader.h"
#include "loop/state/ring.h"

static struct lease *lease_get(struct session *session)
{
	if (list_empty(&session->spare_leases))
		return malloc(sizeof(struct lease));
	struct lease *lease = list_entry(session->spare_leases.next, struct lease, in_session);
	list_remove(&lease->in_session);
	return lease;
}

void lease_free_spare(struct session *session)
{
	list_for_each(lease, next, &session->spare_leases, struct lease, in_session) {
		list_remove(&lease->in_session);
		free(lease);
	}
}

int lease_new(struct lease **out, struct session *session, struct reader *reader, uint64_t ordinal,
	      uint64_t count)
{
	struct ring *ring = reader->ring;
	struct lease *lease = lease_get(session);
	if (!lease)
		return -ENOMEM;
	*lease = (struct lease){.session = session,
				.ring = ring,
				.reader = reader,
				.id = ++session->last_lease,
				.ordinal = ordinal,
				.count = count,
				.since_ns = clock_ns()};
	list_append(&session->leases, &lease->in_session);
	session->n_leases++;
	list_append(&ring->leases, &lease->in_ring);
	reader->leased++;
	for (uint64_t i = 0; i < count; i++)
		if (ring_slot(ring, ordinal + i)->pins++ == 0)
			server_count(ring->server, COUNTER_SLOTS_LEASED, 1);
	*out = lease;
	return 0;
}

void lease_drop(struct lease *lease)
{
	struct ring *ring = lease->ring;
	for (uint64_t i = 0; i < lease->count; i++) {
		struct slot *slot = ring_slot(ring, lease->ordinal + i);
		assert(slot->pins > 0);
		if (--slot->pins == 0)
			server_count(ring->server, COUNTER_SLOTS_LEASED, -1);
	}
	if (lease->reader)
		lease->reader->leased--;
	list_remove(&lease->in_session);
	list_remove(&lease->in_ring);
	list_append(&lease->session->spare_leases, &lease->in_session);
	lease->session->n_leases--;
	ring_loosened(ring);
}

struct lease *lease_find(const struct session *session, uint64_t id)
{
	list_for_each(lease, next, &session->leases, struct lease, in_session)
		if (lease->id == id)
			return lease;
	return NULL;
}
