// SPDX-License-Identifier: MIT
/* Readers and leases: what each claims of its ring, what is pinned, and what stays when a reader
 * leaves. */
#include "tests/unit/loop/fixture.h"

#define FOUR ((struct reader){.share.batch_size = 4})

static struct lease *lease_of(struct reader *reader, uint64_t ordinal, uint64_t count)
{
	struct lease *lease;
	assert_int_equal(lease_new(&lease, reader, ordinal, count), 0);
	return lease;
}

/* -- leases ------------------------------------------------------------------------------- */

static void a_lease_pins_its_slots(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, 8);
	struct reader *one = fixture_reader(fixture, ring, &FOUR);
	struct reader *other = fixture_reader(fixture, ring, &FOUR);
	struct lease *first = lease_of(one, 0, 4), *second = lease_of(other, 2, 4);
	const unsigned pins[] = {1, 1, 2, 2, 1, 1, 0, 0};
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(ring->slot[i].pins, pins[i]);
	assert_int_equal(fixture->core.counters[COUNTER_SLOTS_LEASED], 6); /* slots, not pins */
	assert_int_equal(one->leased, 1);
	assert_int_equal(fixture->book.count, 2);
	lease_drop(first);
	assert_int_equal(fixture->core.counters[COUNTER_SLOTS_LEASED], 4);
	assert_int_equal(one->leased, 0);
	assert_int_equal(other->leased, 1);
	lease_drop(second);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(ring->slot[i].pins, 0);
	assert_int_equal(fixture->core.counters[COUNTER_SLOTS_LEASED], 0);
}

static void a_lease_holds_the_window(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, 8);
	struct reader *reader = fixture_reader(fixture, ring, &FOUR);
	struct lease *lease = lease_of(reader, 0, 4);
	reader_advance(reader);
	reader_advance(reader);
	assert_int_equal(ring_floor(ring), 0);
	assert_false(ring_advance(ring, 8));
	list_remove(&ring->in_touched);
	lease_drop(lease);
	assert_false(list_empty(&ring->in_touched)); /* so that the step wakes waiting readers */
	assert_int_equal(ring_floor(ring), 8);
	assert_true(ring_advance(ring, 8));
}

static void a_lease_outlives_its_reader(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, 8);
	struct reader *reader = fixture_reader(fixture, ring, &FOUR);
	struct lease *lease = lease_of(reader, 0, 4);
	uint64_t id = lease->id;
	fixture_leave(reader);
	assert_ptr_equal(lease_find(&fixture->book, id), lease);
	assert_null(lease->reader);
	assert_int_equal(ring_floor(ring), 0);
	assert_int_equal(ring->slot[3].pins, 1);
	lease_drop(lease);
	assert_int_equal(ring->slot[3].pins, 0);
	assert_true(ring_floor(ring) == UINT64_MAX);
	assert_null(lease_find(&fixture->book, id));
}

static void ids_of_leases_are_not_reused(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, 8);
	struct reader *reader = fixture_reader(fixture, ring, &FOUR);
	struct lease *first = lease_of(reader, 0, 4);
	uint64_t id = first->id;
	lease_drop(first);
	struct lease *second = lease_of(reader, 4, 4);
	assert_ptr_equal(second, first); /* its memory is reused */
	assert_true(second->id > id);
	assert_null(lease_find(&fixture->book, id));
	assert_ptr_equal(lease_find(&fixture->book, second->id), second);
	lease_drop(second);
}

static void a_book_ends_with_all_its_leases(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, 8);
	struct lease_book book;
	lease_book_init(&book);
	struct reader *reader = fixture_reader(fixture, ring, &(struct reader){.book = &book});
	struct reader *other = fixture_reader(fixture, ring, &FOUR);
	lease_of(reader, 0, 4);
	lease_of(reader, 4, 4);
	struct lease *others = lease_of(other, 0, 4);
	assert_int_equal(others->id, 1); /* each book counts for itself */
	lease_book_deinit(&book);
	assert_int_equal(book.count, 0);
	assert_int_equal(reader->leased, 0);
	assert_int_equal(ring->slot[0].pins, 1);
	assert_int_equal(ring->slot[4].pins, 0);
	lease_book_deinit(&book);
	fixture_leave(reader);
}

static void a_book_forgets_one_reader(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, 8);
	struct reader *one = fixture_reader(fixture, ring, &FOUR);
	struct reader *other = fixture_reader(fixture, ring, &FOUR);
	struct lease *first = lease_of(one, 0, 4), *second = lease_of(other, 4, 4);
	lease_book_forget(&fixture->book, one);
	assert_null(first->reader);
	assert_ptr_equal(second->reader, other);
}

/* -- readers ------------------------------------------------------------------------------ */

static void a_reader_claims_its_next_batch(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, 8);
	const struct reader like = {.share = {.batch_size = 4, .world = 2, .rank = 1},
				    .next = {.epoch = 1, .origin = 8}};
	struct reader *reader = fixture_reader(fixture, ring, &like);
	assert_int_equal(reader_place(reader), SAMPLES + 8 + 4);
	assert_int_equal(ring_floor(ring), SAMPLES + 8 + 4);
	reader_advance(reader);
	assert_int_equal(reader_place(reader), SAMPLES + 8 + 4 + 8);
	list_remove(&ring->in_touched);
	reader_exit(reader);
	assert_null(reader->ring);
	assert_true(list_empty(&ring->readers) && ring->lost_reader);
	assert_true(ring_floor(ring) == UINT64_MAX);
	assert_false(list_empty(&ring->in_touched));
}

static void a_reader_that_has_ended_claims_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, 8);
	const struct reader like = {.share.batch_size = SAMPLES / 2, .end_epoch = 1};
	struct reader *reader = fixture_reader(fixture, ring, &like);
	reader_advance(reader);
	assert_int_equal(ring_floor(ring), SAMPLES / 2);
	assert_false(reader_ended(reader));
	reader_advance(reader);
	assert_true(reader_ended(reader));
	assert_true(ring_floor(ring) == UINT64_MAX);
	assert_false(readers_want(ring, 1, 0));
}

static void a_reader_ends_where_numbers_do(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, 8);
	const struct reader like = {.share.batch_size = 4, .end_epoch = UINT64_MAX};
	assert_true(fixture_reader(fixture, ring, &like)->end_epoch == READER_EPOCHS_MAX);
	ring->stride = (uint64_t)1 << 40;
	assert_int_equal(fixture_reader(fixture, ring, &like)->end_epoch,
			 ring_epochs(ring->stride));
	const struct reader two = {.end_epoch = 2};
	assert_int_equal(fixture_reader(fixture, ring, &two)->end_epoch, 2);
}

static void a_touched_reader_is_due_once(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, 8);
	struct reader *reader = fixture_reader(fixture, ring, &FOUR);
	reader_touch(reader);
	reader_touch(reader);
	assert_ptr_equal(fixture->core.due.next, &reader->in_due);
	assert_ptr_equal(fixture->core.due.prev, &reader->in_due);
	list_remove(&reader->in_due);
	reader_exit(reader);
	reader_touch(reader); /* it has ended: nothing is due */
	assert_true(list_empty(&fixture->core.due));
}

static void what_readers_want(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, 16);
	const struct reader zero = {
		.share = {.batch_size = 4, .world = 3, .rank = 0}, .next.epoch = 1, .end_epoch = 2};
	struct reader two = {.share = {.batch_size = 4, .world = 3, .rank = 2}, .next.epoch = 1};
	assert_false(readers_want(ring, 1, 0));
	struct reader *reader = fixture_reader(fixture, ring, &zero);
	fixture_reader(fixture, ring, &two);
	assert_true(readers_want(ring, 1, 0) && readers_want(ring, 1, 8));
	assert_false(readers_want(ring, 1, 4)); /* rank 1 is not here */
	assert_false(readers_want(ring, 0, 8));
	assert_true(readers_want(ring, 2, 8));
	assert_false(readers_want(ring, 2, 0)); /* rank 0 ends before */
	reader_advance(reader);
	assert_false(readers_want(ring, 1, 0));
	assert_true(readers_want(ring, 1, 12));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_CASE(a_lease_pins_its_slots),
		FIXTURE_CASE(a_lease_holds_the_window),
		FIXTURE_CASE(a_lease_outlives_its_reader),
		FIXTURE_CASE(ids_of_leases_are_not_reused),
		FIXTURE_CASE(a_book_ends_with_all_its_leases),
		FIXTURE_CASE(a_book_forgets_one_reader),
		FIXTURE_CASE(a_reader_claims_its_next_batch),
		FIXTURE_CASE(a_reader_that_has_ended_claims_nothing),
		FIXTURE_CASE(a_reader_ends_where_numbers_do),
		FIXTURE_CASE(a_touched_reader_is_due_once),
		FIXTURE_CASE(what_readers_want),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
