// SPDX-License-Identifier: MIT
/* Lean rings: whom they are made for, when they are too small, and who moves out of one. */
#include "tests/unit/loop/fixture.h"

#include "base/clock.h"
#include "loop/policy/ring_growth.h"
#include "loop/policy/ring_plan.h"

#define SLOTS 16
#define WHOLE 16384 /* slots whose fields are whole pages, of 64 KiB, too */
#define FOUR ((struct reader){.share.batch_size = 4})

static struct ring *lean_ring(struct fixture *fixture)
{
	struct ring *ring = fixture_ring(fixture->stream, SLOTS);
	ring->lean = true;
	return ring;
}

static uint64_t planned(struct stream *stream, const struct ring_request *request,
			uint64_t batch_size, bool *lean_out)
{
	const struct share share = {.n = SAMPLES, .batch_size = batch_size, .world = 1};
	const struct cursor first = {0};
	struct ring_plan plan;
	struct fault fault;
	assert_int_equal(ring_plan_make(request, &share, &first, stream, &plan, &fault), 0);
	*lean_out = plan.lean;
	return plan.slots / batch_size;
}

/* A sample has 12 bytes of pixels: a ring of 64 MiB has large batches. */
static void a_large_ring_begins_small(void **state)
{
	struct fixture *fixture = *state;
	struct ring_request request = {.uid = ALICE, .fd = true, .inflight = 3, .lean = true};
	struct stream *stream = fixture->stream;
	uint64_t large = (64 << 20) / ring_bytes(stream, WHOLE) * WHOLE;
	bool lean;
	assert_int_equal(planned(stream, &request, 16, &lean), 3 + 1 + 1);
	assert_false(lean);
	assert_int_equal(planned(stream, &request, large, &lean), 2);
	assert_true(lean);
	request.lean = false;
	assert_int_equal(planned(stream, &request, large, &lean), 3 + 1 + 1);
	assert_false(lean);
	request.lean = true;
	struct stream_order order = fixture_order(fixture);
	order.augment_seed = 1; /* shares its decodes with the first */
	stream = fixture_stream(fixture, &order, "uint8");
	assert_int_equal(planned(stream, &request, large, &lean), 3 + 1 + 1);
	assert_false(lean);
}

/* Half a batch for threads to go on in, then one batch more, then the full ring. */
static void it_grows_in_steps(void **state)
{
	struct fixture *fixture = *state;
	struct ring_request request = {.uid = ALICE, .fd = true, .inflight = 3, .lean = true};
	struct stream *stream = fixture->stream;
	const struct cursor first = {0};
	const uint64_t batch = (64 << 20) / ring_bytes(stream, WHOLE) * WHOLE;
	struct share share = {.n = SAMPLES, .batch_size = batch, .world = 1};
	struct ring_plan plan;
	struct fault fault;
	assert_int_equal(ring_plan_make(&request, &share, &first, stream, &plan, &fault), 0);
	assert_int_equal(plan.slots,
			 2 * batch + segment_page() / 4); /* of 12 bytes each: whole pages */
	assert_true(plan.lean);
	request.above = plan.slots;
	assert_int_equal(ring_plan_make(&request, &share, &first, stream, &plan, &fault), 0);
	assert_int_equal(plan.slots, 3 * batch);
	assert_true(plan.lean);
	request.above = plan.slots;
	assert_int_equal(ring_plan_make(&request, &share, &first, stream, &plan, &fault), 0);
	assert_int_equal(plan.slots, 5 * batch);
	assert_false(plan.lean);
	request.above = 0;
	share.world = 2; /* whose bands are whole batches */
	assert_int_equal(ring_plan_make(&request, &share, &first, stream, &plan, &fault), 0);
	assert_int_equal(plan.slots, 2 * 2 * batch);
}

static void who_joins_a_lean_ring(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = lean_ring(fixture);
	struct ring_request request = {.uid = ALICE, .fd = true, .inflight = 3, .lean = true};
	const struct share share = {.n = SAMPLES, .batch_size = 4, .world = 1};
	const struct cursor first = {0};
	assert_true(ring_fits(&request, &share, &first, ring));
	request.lean = false;
	assert_false(ring_fits(&request, &share, &first, ring));
	ring->lean = false;
	assert_true(ring_fits(&request, &share, &first, ring));
}

static void others_crowd_it(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = lean_ring(fixture);
	assert_false(ring_growth_crowded(ring));
	fixture_reader(fixture, ring, &FOUR);
	assert_false(ring_growth_crowded(ring));
	struct reader *second = fixture_reader(fixture, ring, &FOUR);
	assert_true(ring_growth_crowded(ring));
	fixture_leave(second);
	assert_false(ring_growth_crowded(ring));
	struct stream_order order = fixture_order(fixture);
	order.augment_seed = 1;
	fixture_stream(fixture, &order, "uint8");
	assert_true(ring_growth_crowded(ring));
}

/* One that needs room for what this ring's reader leaves out of an epoch has a ring of its own. */
static void others_whose_epochs_are_longer(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = lean_ring(fixture), *other = fixture_ring(fixture->stream, SLOTS);
	fixture_reader(fixture, ring, &FOUR);
	assert_false(ring_growth_crowded(ring));
	other->stride++;
	assert_true(ring_growth_crowded(ring));
	other->uid++;
	assert_false(ring_growth_crowded(ring));
	other->uid--;
}

/* The trainer holds an epoch's last batch while it waits for the next epoch's first. */
static void a_small_ring_has_no_gap_between_epochs(void **state)
{
	struct fixture *fixture = *state;
	struct ring_request request = {.uid = ALICE, .fd = true, .inflight = 3, .lean = true};
	const uint64_t batch = (64 << 20) / ring_bytes(fixture->stream, WHOLE) * WHOLE;
	const struct share share = {
		.n = 2 * batch + 1, .batch_size = batch, .world = 1, .last = LAST_DROP};
	const struct cursor first = {0};
	struct ring_plan plan;
	struct fault fault;
	assert_int_equal(ring_plan_make(&request, &share, &first, fixture->stream, &plan, &fault),
			 0);
	assert_true(plan.lean && plan.stride == 2 * batch);
	request.lean = false;
	assert_int_equal(ring_plan_make(&request, &share, &first, fixture->stream, &plan, &fault),
			 0);
	assert_true(!plan.lean && plan.stride == 3 * batch);
}

static void a_trainer_that_holds_it(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = lean_ring(fixture);
	struct reader *reader = fixture_reader(fixture, ring, &FOUR);
	reader->since_ns = 1000000000;
	assert_false(ring_growth_held(reader, 2900000000));
	assert_true(ring_growth_held(reader, 3000000000));
	reader->rested_ns = 2000000000; /* it had not received one of its batches */
	assert_false(ring_growth_held(reader, 3900000000));
	assert_true(ring_growth_held(reader, 4000000000));
	ring->lean = false;
	assert_false(ring_growth_held(reader, 4000000000));
}

/* Small for another reason, such as `prefetch`: only where its own batch is in its way. */
static void all_of_a_small_ring_is_held(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, SLOTS);
	struct reader *reader = fixture_reader(
		fixture, ring, &(struct reader){.share.batch_size = 4, .inflight = SLOTS / 4});
	struct lease *lease;
	fixture_make(ring, 0, 4);
	assert_int_equal(lease_new(&lease, reader, 0, 4), 0);
	reader->since_ns = 1000000000;
	assert_false(ring_growth_held(reader, 3000000000)); /* its next batch has slots */
	for (unsigned i = 0; i < SLOTS / 4; i++)
		reader_advance(reader);
	assert_true(ring_growth_held(reader, 3000000000));
	assert_false(ring_growth_held(reader, 2900000000));
	reader->inflight--; /* the ring is larger than that: engine/migrate.c forks at once */
	assert_false(ring_growth_held(reader, 3000000000));
	reader->inflight++;
	lease_drop(lease);
	assert_false(ring_growth_held(reader, 3000000000));
}

static void announce(struct reader *reader, struct lease **out)
{
	uint64_t ordinal = reader_place(reader);
	fixture_make(reader->ring, ordinal, ordinal + 4);
	assert_int_equal(lease_new(out, reader, ordinal, 4), 0);
	reader_advance(reader);
}

/* What a trainer waited for is told by when it gives back what it had before. */
static void batches_that_are_waited_for(void **state)
{
	struct fixture *fixture = *state;
	struct reader *reader = fixture_reader(fixture, lean_ring(fixture), &FOUR);
	struct lease *one, *two, *three;
	announce(reader, &one);
	assert_int_equal(reader->awaited, 1); /* it had none */
	reader->fed_ns -= 10000000;
	lease_drop(one);
	assert_int_equal(reader->awaited, 1);
	announce(reader, &one);
	assert_int_equal(reader->awaited, 2);
	announce(reader, &two);
	assert_int_equal(reader->awaited, 2);
	reader->fed_ns -= 10000000;
	lease_drop(one); /* it was busy for 10 ms */
	assert_int_equal(reader->awaited, 2);
	announce(reader, &three);
	reader->fed_ns = clock_ns() + 1000000000; /* as if it were now, on any machine */
	reader->fed_ns -= 1000000000;
	lease_drop(two);
	assert_in_range(reader->awaited, 2, 3);
	lease_drop(three);
	reader->awaited = 1;
	assert_true(ring_growth_short(reader, 0.1));
	assert_false(ring_growth_short(reader, 0.01)); /* workers have no time for more */
	reader->ring->spare = 0.12;		       /* the ring before was not much worse */
	assert_false(ring_growth_short(reader, 0.1));
	reader->ring->spare = 0.2;
	assert_true(ring_growth_short(reader, 0.1));
	reader->awaited = 0;
	assert_false(ring_growth_short(reader, 0.1));
}

static void who_moves_to_a_larger_one(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = lean_ring(fixture), *larger = fixture_ring(fixture->stream, 2 * SLOTS);
	struct reader *one = fixture_reader(fixture, ring, &FOUR);
	struct reader *two = fixture_reader(fixture, ring, &FOUR);
	one->move.at.batch = 4;
	two->move.at.batch = 3;
	assert_ptr_equal(ring_growth_hindmost(ring), two);
	assert_true(ring_growth_fits(ring, larger));
	larger->base = 13; /* two's place is gone */
	assert_false(ring_growth_fits(ring, larger));
	two->moves = false;
	assert_ptr_equal(ring_growth_hindmost(ring), one);
	assert_true(ring_growth_fits(ring, larger));
	one->next.epoch = one->end_epoch;
	assert_null(ring_growth_hindmost(ring));
	one->next.epoch = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_CASE(a_large_ring_begins_small),
		FIXTURE_CASE(it_grows_in_steps),
		FIXTURE_CASE(who_joins_a_lean_ring),
		FIXTURE_CASE(others_crowd_it),
		FIXTURE_CASE(others_whose_epochs_are_longer),
		FIXTURE_CASE(a_small_ring_has_no_gap_between_epochs),
		FIXTURE_CASE(a_trainer_that_holds_it),
		FIXTURE_CASE(all_of_a_small_ring_is_held),
		FIXTURE_CASE(batches_that_are_waited_for),
		FIXTURE_CASE(who_moves_to_a_larger_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
