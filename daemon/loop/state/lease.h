/* SPDX-License-Identifier: MIT */
/*
 * A lease: a batch that a peer holds. It belongs to the peer's session and pins slots of one ring,
 * and it outlives the reader it was announced to: what a training process reads stays as it is
 * until that process gives it back or is gone, whatever it has attached to since. Loop thread.
 */
#ifndef STOKER_LOOP_STATE_LEASE_H
#define STOKER_LOOP_STATE_LEASE_H

#include <stdint.h>

#include "base/list.h"

struct reader;
struct ring;
struct session;

struct lease {
	struct list in_session, in_ring; /* each oldest first */
	struct ring *ring;
	struct session *session;
	struct reader *reader; /* NULL once that has left */
	uint64_t id;	       /* unique in the session */
	uint64_t ordinal, count;
	uint64_t since_ns;
};

/* Pins the slots of [ordinal, ordinal + count). 0 or -ENOMEM. */
int lease_new(struct lease **out, struct session *session, struct reader *reader, uint64_t ordinal,
	      uint64_t count);
/* LEASED -> FREE. A ring that lived for this lease only goes with it. */
void lease_drop(struct lease *lease);
/* Memory of leases that were dropped: kept for the next ones until the session ends. */
void lease_free_spare(struct session *session);
struct lease *lease_find(const struct session *session, uint64_t id); /* NULL if there is none */

#endif
