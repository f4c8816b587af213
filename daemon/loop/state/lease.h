/* SPDX-License-Identifier: MIT */
/*
 * A lease: a batch that a client holds. It pins the slots of one ring. It belongs to the lease book
 * of the client's connection and outlives the reader it was announced to: what a training process
 * reads stays as it is until that process gives it back or is gone, whatever it attached to since.
 * Loop thread; knows no connection.
 */
#ifndef STOKER_LOOP_STATE_LEASE_H
#define STOKER_LOOP_STATE_LEASE_H

#include <stdint.h>

#include "base/list.h"
#include "loop/state/ring.h"

struct reader;

/* All leases of one connection. */
struct lease_book {
	struct list leases; /* oldest first */
	unsigned count;
	struct list spare; /* memory for reuse */
	uint64_t last_id;
};

struct lease {
	struct list in_book, in_ring; /* each oldest first */
	struct lease_book *book;
	struct ring *ring;
	struct ring_claim claim; /* its first ordinal */
	struct reader *reader;	 /* NULL once that has left */
	uint64_t id;		 /* unique in the book */
	uint64_t count;
	uint64_t since_ns;
};

void lease_book_init(struct lease_book *book);
void lease_book_deinit(struct lease_book *book); /* drops all leases; may be called twice */

/* Pin the slots of [ordinal, ordinal + count) for the reader. 0 or -ENOMEM. */
int lease_new(struct lease **out, struct reader *reader, uint64_t ordinal, uint64_t count);
void lease_drop(struct lease *lease);
struct lease *lease_find(const struct lease_book *book, uint64_t id); /* NULL if there is none */
/* The reader is gone; its leases stay. */
void lease_book_forget(struct lease_book *book, const struct reader *reader);

#endif
