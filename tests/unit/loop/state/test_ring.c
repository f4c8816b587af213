// SPDX-License-Identifier: MIT
/* Rings: how one is made, where its window is, and what keeps it from moving. */
#include "tests/unit/loop/fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* -- begin and end ------------------------------------------------------------------------ */

static struct ring *begin(struct fixture *fixture, enum segment_transport transport, uint64_t slots)
{
	const struct ring_plan plan = {
		.transport = transport, .slots = slots, .stride = SAMPLES, .start = 9, .uid = BOB};
	struct ring *ring;
	assert_int_equal(ring_new(&ring, fixture->stream, &plan), 0);
	return ring;
}

static void a_ring_is_made_by_a_task(void **state)
{
	struct fixture *fixture = *state;
	struct core *core = &fixture->core;
	struct ring *ring = begin(fixture, SEGMENT_FD, 8);
	uint64_t bytes = ring_bytes(fixture->stream, 8);
	assert_false(ring->made);
	assert_true(ring->making.pending);
	assert_int_equal(ring->segment.bytes, bytes); /* charged before it exists */
	assert_int_equal(core->ring_bytes, bytes);
	assert_int_equal(core->counters[COUNTER_RING_BYTES], bytes);
	assert_int_equal(core->counters[COUNTER_RINGS], 1);
	fixture_run(fixture);
	assert_true(ring->made);
	assert_false(ring->making.pending);
	assert_ptr_equal(core->touched.next,
			 &ring->in_touched); /* so that the step tells the waiters */
	assert_int_equal(ring->segment.header.slots, 8);
	assert_int_equal(ring->segment.header.ring, ring->id);
	assert_int_equal(ring->base, 9);
	assert_int_equal(ring->uid, BOB);
	struct stat stat;
	assert_int_equal(fstat(ring->segment.fd, &stat), 0);
	assert_int_equal(stat.st_size, bytes);
	ring_free(ring);
	assert_int_equal(core->ring_bytes, 0);
	assert_true(list_empty(&core->touched));
}

static void a_ring_with_a_path(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = begin(fixture, SEGMENT_PATH, 8);
	char path[sizeof(ring->segment.path)];
	struct stat stat;
	fixture_run(fixture);
	strcpy(path, ring->segment.path);
	assert_non_null(strstr(path, fixture->core.shm_prefix));
	assert_int_equal(lstat(path, &stat), 0);
	assert_int_equal(stat.st_mode & 0777, 0600);
	ring_free(ring);
	assert_int_equal(lstat(path, &stat), -1);
}

static void a_ring_that_cannot_be_made(void **state)
{
	struct fixture *fixture = *state;
	strcpy(fixture->core.shm_prefix, "no/such/folder/");
	struct ring *ring = begin(fixture, SEGMENT_PATH, 8);
	fixture_run(fixture);
	assert_false(ring->made);
	assert_true(ring->making.result < 0);
	assert_non_null(strstr(ring->making.fault.text, "cannot make a ring"));
	assert_ptr_equal(fixture->core.touched.next, &ring->in_touched);
	assert_int_equal(fixture->core.ring_bytes, ring_bytes(fixture->stream, 8));
	ring_free(ring); /* the teardown checks the account */
}

static void bytes_of_a_ring(void **state)
{
	struct fixture *fixture = *state;
	/* A page of header; of each field, rounded up to pages: 12 bytes, 8 and 8. */
	uint64_t page = segment_page();
	assert_int_equal(page % (uint64_t)sysconf(_SC_PAGESIZE), 0);
	assert_int_equal(ring_bytes(fixture->stream, 8), 4 * page);
	assert_int_equal(ring_bytes(fixture->stream, page / 8), (1 + 2 + 1 + 1) * page);
	assert_true(ring_bytes(fixture->stream, UINT32_MAX) < SEGMENT_BYTES_MAX);
	assert_true(ring_bytes(fixture->stream, (uint64_t)UINT32_MAX + 1) == SEGMENT_BYTES_MAX);
}

static void an_abandoned_ring_cannot_be_found(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, 8);
	ring_abandon(ring);
	assert_true(ring->abandoned);
	assert_true(list_empty(&fixture->stream->rings));
	assert_ptr_equal(fixture->core.abandoned.next, &ring->link);
}

static void a_touched_ring_is_listed_once(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, 8);
	assert_true(list_empty(&fixture->core.touched));
	ring_touch(ring);
	ring_touch(ring);
	assert_ptr_equal(fixture->core.touched.next, &ring->in_touched);
	assert_ptr_equal(fixture->core.touched.prev, &ring->in_touched);
	list_remove(&ring->in_touched);
	assert_true(list_empty(&fixture->core.touched));
}

/* -- the window --------------------------------------------------------------------------- */

static void the_window(void **state)
{
	struct ring *ring = fixture_ring(((struct fixture *)*state)->stream, 8);
	ring->base = 13;
	assert_false(ring_holds(ring, 12));
	assert_true(ring_holds(ring, 13) && ring_holds(ring, 20));
	assert_false(ring_holds(ring, 21));
	for (uint64_t ordinal = 13; ordinal < 21; ordinal++) {
		uint32_t number = ring_slot_number(ring, ordinal);
		assert_int_equal(number, ordinal % 8);
		assert_int_equal(ring_ordinal_of(ring, number), ordinal);
		assert_ptr_equal(ring_slot(ring, ordinal), &ring->slot[number]);
	}
}

static void ordinals_do_not_overflow(void **state)
{
	struct ring *ring = fixture_ring(((struct fixture *)*state)->stream, 8);
	static const uint64_t strides[] = {1, 3, SAMPLES, (uint64_t)1 << 40};
	for (size_t i = 0; i < sizeof(strides) / sizeof(*strides); i++) {
		uint64_t last = ring_epochs(strides[i]) - 1;
		ring->stride = strides[i];
		assert_int_equal(ring_ordinal(ring, last, strides[i] - 1) / strides[i], last);
		assert_true(ring_ordinal(ring, last, strides[i] - 1) < UINT64_MAX / 2);
	}
	ring->stride = SAMPLES;
	assert_int_equal(ring_ordinal(ring, 3, 5), 3 * SAMPLES + 5);
}

static void the_floor_is_the_lowest_claim(void **state)
{
	struct ring *ring = fixture_ring(((struct fixture *)*state)->stream, 8);
	struct ring_claim a, b, c;
	assert_true(ring_floor(ring) == UINT64_MAX);
	ring_claim(ring, &a, 7);
	ring_claim(ring, &b, 3);
	ring_claim(ring, &c, UINT64_MAX);
	assert_int_equal(ring_floor(ring), 3);
	b.ordinal = 9;
	assert_int_equal(ring_floor(ring), 7);
	assert_true(list_empty(&ring->in_touched));
	ring_unclaim(ring, &a);
	assert_false(list_empty(&ring->in_touched));
	assert_int_equal(ring_floor(ring), 9);
	ring_unclaim(ring, &b);
	ring_unclaim(ring, &c);
	assert_true(ring_floor(ring) == UINT64_MAX);
}

static void the_window_stops_at_a_claim(void **state)
{
	struct ring *ring = fixture_ring(((struct fixture *)*state)->stream, 8);
	struct ring_claim claim;
	fixture_make(ring, 0, 8);
	ring_claim(ring, &claim, 3);
	ring->wake_at = UINT64_MAX;
	assert_true(ring_advance(ring, 7));
	assert_int_equal(ring->base, 0); /* no need to move: samples stay */
	assert_true(ring_could_hold(ring, 10));
	assert_true(ring_advance(ring, 10));
	assert_int_equal(ring->base, 3);
	assert_true(ring->wake_at == UINT64_MAX);
	assert_int_equal(ring_slot(ring, 10)->state, SLOT_EMPTY);
	assert_int_equal(ring_slot(ring, 3)->state, SLOT_READY);
	assert_false(ring_could_hold(ring, 11));
	assert_false(ring_advance(ring, 11));
	assert_int_equal(ring->base, 3);
	assert_int_equal(ring->wake_at, 4); /* the first floor that helps */
	ring->wake_at = 2;
	assert_false(ring_advance(ring, 11));
	assert_int_equal(ring->wake_at, 2); /* another reader is to be woken earlier */
	assert_false(ring_could_hold(ring, 2));
	assert_false(ring->obstructed);
	ring_unclaim(ring, &claim);
}

/* Who comes late finds all that nobody needed the room of. */
static void the_window_moves_the_whole_way_or_stays(void **state)
{
	struct ring *ring = fixture_ring(((struct fixture *)*state)->stream, 8);
	struct ring_claim claim;
	ring_claim(ring, &claim, 3);
	ring->wake_at = UINT64_MAX;
	assert_false(ring_advance(ring, 30));
	assert_int_equal(ring->base, 0);
	assert_int_equal(ring->wake_at, 4);
	ring_unclaim(ring, &claim);
	assert_true(ring_advance(ring, 30));
	assert_int_equal(ring->base, 23);
}

static void the_window_stops_at_a_job(void **state)
{
	struct ring *ring = fixture_ring(((struct fixture *)*state)->stream, 8);
	fixture_make(ring, 0, 2);
	slot_fill(ring_slot(ring, 2));
	ring->wake_at = UINT64_MAX;
	assert_true(ring_could_hold(ring, 9));
	assert_false(ring_could_hold(ring, 10));
	assert_false(ring_advance(ring, 10));
	assert_int_equal(ring->base, 2);
	assert_true(ring->obstructed);
	assert_int_equal(ring->wake_at, 0); /* waiting readers look again whatever the floor is */
	slot_unfill(ring_slot(ring, 2));
	assert_true(ring_advance(ring, 10));
}

static void the_window_stops_at_a_pin(void **state)
{
	struct ring *ring = fixture_ring(((struct fixture *)*state)->stream, 8);
	fixture_make(ring, 0, 2);
	ring_slot(ring, 1)->pins = 1;
	ring->wake_at = UINT64_MAX;
	assert_false(ring_could_hold(ring, 9));
	assert_false(ring_advance(ring, 9));
	assert_int_equal(ring->base, 1);
	assert_false(ring->obstructed);
	assert_int_equal(ring->wake_at, 0);
	ring_slot(ring, 1)->pins = 0;
	assert_true(ring_advance(ring, 9));
	assert_int_equal(ring->base, 2);
}

/* The next epoch's first ordinal is many windows away: every slot is emptied, and the window does
 * not walk there slot by slot. */
static void the_window_crosses_a_gap(void **state)
{
	struct ring *ring = fixture_ring(((struct fixture *)*state)->stream, 8);
	struct slot_note *note = calloc(1, sizeof(*note));
	ring->stride = (uint64_t)1 << 40;
	fixture_make(ring, 0, 7);
	slot_fill(ring_slot(ring, 7));
	slot_spoil(ring_slot(ring, 7), note);
	uint64_t next = ring_ordinal(ring, 1, 0);
	assert_true(ring_could_hold(ring, next));
	assert_true(ring_advance(ring, next));
	assert_true(ring->base == next - 7);
	for (uint32_t i = 0; i < 8; i++) {
		assert_int_equal(ring->slot[i].state, SLOT_EMPTY);
		assert_null(ring->slot[i].note);
	}
}

static unsigned next_random(unsigned *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static void could_hold_foretells_advance(void **state)
{
	struct ring *ring = fixture_ring(((struct fixture *)*state)->stream, 8);
	unsigned random = 1, held = 0;
	for (int round = 0; round < 20000; round++) {
		struct ring_claim claim;
		ring->base = 16;
		for (uint32_t i = 0; i < 8; i++)
			ring->slot[i] = (struct slot){
				.state = (next_random(&random) % 8) ? SLOT_READY : SLOT_FILLING};
		ring->slot[next_random(&random) % 8].pins = next_random(&random) % 2;
		ring_claim(ring, &claim, 16 + next_random(&random) % 20);
		uint64_t ordinal = 16 + next_random(&random) % 24;
		bool could = ring_could_hold(ring, ordinal);
		assert_int_equal(ring_advance(ring, ordinal), could);
		assert_int_equal(ring_holds(ring, ordinal), could);
		assert_true(ring->base <= claim.ordinal);
		held += could;
		ring_unclaim(ring, &claim);
	}
	assert_in_range(held, 2000, 18000);
	for (uint32_t i = 0; i < 8; i++)
		ring->slot[i] = (struct slot){.state = SLOT_EMPTY};
}

static void slots(void **state)
{
	(void)state;
	struct slot slot = {.state = SLOT_EMPTY};
	struct slot_note note;
	slot_fill(&slot);
	assert_int_equal(slot.state, SLOT_FILLING);
	slot_unfill(&slot);
	assert_int_equal(slot.state, SLOT_EMPTY);
	slot_fill(&slot);
	slot_done(&slot, true, 17);
	assert_int_equal(slot.state, SLOT_READY);
	assert_true(slot.substituted && slot.made_ns == 17);
	slot = (struct slot){.state = SLOT_FILLING};
	slot_spoil(&slot, &note);
	assert_int_equal(slot.state, SLOT_BAD);
	assert_ptr_equal(slot.note, &note);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_CASE(a_ring_is_made_by_a_task),
		FIXTURE_CASE(a_ring_with_a_path),
		FIXTURE_CASE(a_ring_that_cannot_be_made),
		FIXTURE_CASE(bytes_of_a_ring),
		FIXTURE_CASE(an_abandoned_ring_cannot_be_found),
		FIXTURE_CASE(a_touched_ring_is_listed_once),
		FIXTURE_CASE(the_window),
		FIXTURE_CASE(ordinals_do_not_overflow),
		FIXTURE_CASE(the_floor_is_the_lowest_claim),
		FIXTURE_CASE(the_window_stops_at_a_claim),
		FIXTURE_CASE(the_window_moves_the_whole_way_or_stays),
		FIXTURE_CASE(the_window_stops_at_a_job),
		FIXTURE_CASE(the_window_stops_at_a_pin),
		FIXTURE_CASE(the_window_crosses_a_gap),
		FIXTURE_CASE(could_hold_foretells_advance),
		cmocka_unit_test(slots),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
