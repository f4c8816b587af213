// SPDX-License-Identifier: MIT
#include "loop/state/lease.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "loop/state/core.h"
#include "loop/state/reader.h"

#define AT_ONCE_NS 1000000 /* or that part of the time since it gave one back before, ... */
#define AT_ONCE_PART 16
#define AT_ONCE_MOST_NS 10000000 /* ... up to this: a busy machine is slow to wake it */

void lease_book_init(struct lease_book *book)
{
	*book = (struct lease_book){0};
	list_init(&book->leases);
	list_init(&book->spare);
}

void lease_book_deinit(struct lease_book *book)
{
	list_for_each(lease, next, &book->leases, struct lease, in_book)
		lease_drop(lease);
	list_for_each(spare, after, &book->spare, struct lease, in_book) {
		list_remove(&spare->in_book);
		free(spare);
	}
}

static struct lease *lease_memory(struct lease_book *book)
{
	if (list_empty(&book->spare))
		return malloc(sizeof(struct lease));
	struct lease *lease = list_entry(book->spare.next, struct lease, in_book);
	list_remove(&lease->in_book);
	return lease;
}

int lease_new(struct lease **out, struct reader *reader, uint64_t ordinal, uint64_t count)
{
	struct lease_book *book = reader->book;
	struct ring *ring = reader->ring;
	struct lease *lease = lease_memory(book);
	if (!lease)
		return -ENOMEM;
	*lease = (struct lease){.book = book,
				.ring = ring,
				.reader = reader,
				.id = ++book->last_id,
				.count = count,
				.since_ns = clock_ns()};
	reader->awaited += reader->leased == 0;
	reader->fed_ns = lease->since_ns;
	list_append(&book->leases, &lease->in_book);
	book->count++;
	list_append(&ring->leases, &lease->in_ring);
	ring_claim(ring, &lease->claim, ordinal);
	reader->leased++;
	for (uint64_t i = 0; i < count; i++)
		if (ring_slot(ring, ordinal + i)->pins++ == 0)
			core_count(ring->core, COUNTER_SLOTS_LEASED, 1);
	*out = lease;
	return 0;
}

/* Check that the reader waited for its next batch: it gives one back as soon as the next has come.
 */
static bool lease_awaited_next(const struct lease *lease, uint64_t now_ns)
{
	const struct reader *reader = lease->reader;
	uint64_t at_once_ns = (now_ns - reader->gave_ns) / AT_ONCE_PART;
	if (at_once_ns < AT_ONCE_NS)
		at_once_ns = AT_ONCE_NS;
	if (at_once_ns > AT_ONCE_MOST_NS)
		at_once_ns = AT_ONCE_MOST_NS;
	return lease->id != lease->book->last_id && now_ns - reader->fed_ns < at_once_ns;
}

void lease_drop(struct lease *lease)
{
	struct ring *ring = lease->ring;
	for (uint64_t i = 0; i < lease->count; i++) {
		struct slot *slot = ring_slot(ring, lease->claim.ordinal + i);
		assert(slot->pins > 0);
		if (--slot->pins == 0)
			core_count(ring->core, COUNTER_SLOTS_LEASED, -1);
	}
	if (lease->reader) {
		uint64_t now_ns = clock_ns();
		lease->reader->awaited += lease_awaited_next(lease, now_ns);
		lease->reader->gave_ns = now_ns;
		lease->reader->leased--;
		if (ring == lease->reader->ring) /* its client knows of this ring */
			reader_forget_left(lease->reader);
	}
	list_remove(&lease->in_book);
	list_remove(&lease->in_ring);
	ring_unclaim(ring, &lease->claim);
	list_append(&lease->book->spare, &lease->in_book);
	lease->book->count--;
}

struct lease *lease_find(const struct lease_book *book, uint64_t id)
{
	list_for_each(lease, next, &book->leases, struct lease, in_book)
		if (lease->id == id)
			return lease;
	return NULL;
}

void lease_book_forget(struct lease_book *book, const struct reader *reader)
{
	list_for_each(lease, next, &book->leases, struct lease, in_book)
		if (lease->reader == reader)
			lease->reader = NULL;
}
