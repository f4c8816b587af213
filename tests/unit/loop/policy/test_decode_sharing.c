// SPDX-License-Identifier: MIT
/* Decode sharing: which other slots want the picture that is about to be decoded. */
#include "tests/unit/loop/fixture.h"

#include "loop/policy/decode_sharing.h"

#define SLOTS 16

/* A ring of a stream that shares its decodes with the fixture's, with a reader on it. */
static struct ring *another(struct fixture *fixture, uint64_t augment_seed)
{
	struct stream_order order = fixture_order(fixture);
	order.augment_seed = augment_seed;
	struct ring *ring = fixture_ring(fixture_stream(fixture, &order, "uint8"), SLOTS);
	fixture_reader(fixture, ring, &(struct reader){.share.batch_size = 4});
	return ring;
}

static void a_picture_is_wanted_in_another_stream(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, SLOTS);
	struct ring *one = another(fixture, 1), *two = another(fixture, 2);
	struct sharer sharers[JOB_SHARERS_MAX];
	assert_int_equal(decode_sharing_find(ring, 0, 5, sharers), 2);
	assert_ptr_equal(sharers[0].ring, one);
	assert_ptr_equal(sharers[1].ring, two);
	assert_int_equal(sharers[1].position, 5);
	fixture_make(one, 5, 6); /* it is there already */
	assert_int_equal(decode_sharing_find(ring, 0, 5, sharers), 1);
	assert_ptr_equal(sharers[0].ring, two);
	slot_fill(ring_slot(two, 5)); /* it is being made */
	assert_int_equal(decode_sharing_find(ring, 0, 5, sharers), 0);
	slot_unfill(ring_slot(two, 5));
}

static void a_ring_of_the_same_stream_is_no_sharer(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, SLOTS);
	struct ring *fork = fixture_ring(fixture->stream, SLOTS);
	struct sharer sharers[JOB_SHARERS_MAX];
	fixture_reader(fixture, fork, &(struct reader){.share.batch_size = 4});
	assert_int_equal(decode_sharing_find(ring, 0, 5, sharers), 0);
}

static void another_users_ring_is_no_sharer(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, SLOTS);
	struct ring *other = another(fixture, 1);
	struct sharer sharers[JOB_SHARERS_MAX];
	assert_int_equal(decode_sharing_find(ring, 0, 5, sharers), 1);
	assert_true(decode_sharing_soon(ring, 0, SLOTS));
	other->uid = BOB; /* who orders pays, so what it pays for is its own */
	assert_int_equal(decode_sharing_find(ring, 0, 5, sharers), 0);
	assert_false(decode_sharing_soon(ring, 0, SLOTS));
}

static void only_what_a_reader_will_get(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, SLOTS);
	struct ring *other = another(fixture, 1);
	struct reader *reader = list_entry(other->readers.next, struct reader, in_ring);
	struct sharer sharers[JOB_SHARERS_MAX];
	reader_advance(reader);
	assert_int_equal(decode_sharing_find(ring, 0, 3, sharers), 0); /* it has passed that */
	assert_int_equal(decode_sharing_find(ring, 0, 4, sharers), 1);
	reader->end_epoch = 1;
	assert_int_equal(decode_sharing_find(ring, 1, 0, sharers), 0);
	other->stride = 8; /* with last_batch drop a ring may be shorter than the epoch */
	assert_int_equal(decode_sharing_find(ring, 0, 8, sharers), 0);
	other->stride = SAMPLES;
}

static void a_window_that_can_move_counts(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, SLOTS);
	struct ring *other = another(fixture, 1);
	struct reader *reader = list_entry(other->readers.next, struct reader, in_ring);
	struct sharer sharers[JOB_SHARERS_MAX];
	assert_int_equal(decode_sharing_find(ring, 0, SLOTS, sharers), 0);
	reader_advance(reader);
	assert_int_equal(decode_sharing_find(ring, 0, SLOTS, sharers), 1);
	assert_int_equal(other->base, 0); /* found, not moved */
}

static void soon_is_half_a_window(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, SLOTS);
	assert_false(decode_sharing_soon(ring, 0, SLOTS));
	struct ring *other = another(fixture, 1);
	assert_false(decode_sharing_soon(ring, 0, SLOTS - 1)); /* it holds that */
	assert_true(decode_sharing_soon(ring, 0, SLOTS));
	assert_true(decode_sharing_soon(ring, 0, SLOTS + SLOTS / 2 - 1));
	assert_false(decode_sharing_soon(ring, 0, SLOTS + SLOTS / 2));
	reader_advance(list_entry(other->readers.next, struct reader, in_ring));
	assert_false(decode_sharing_soon(ring, 0, SLOTS)); /* its window can move there now */
	assert_true(decode_sharing_soon(ring, 0, SLOTS + SLOTS / 2));
}

/* -- echo --------------------------------------------------------------------------------- */

/* Each sample three times, in windows of 4: 0 1 2 3 0 1 2 3 0 1 2 3, 4 5 6 7 4 ... */
static struct ring *echoing(struct fixture *fixture, bool mixes, const char *dtype)
{
	struct stream_order order = fixture_order(fixture);
	order.echo = 3;
	order.echo_window = 4;
	order.fields.partners = mixes;
	struct ring *ring = fixture_ring(fixture_stream(fixture, &order, dtype), SLOTS);
	fixture_reader(fixture, ring, &(struct reader){.share.batch_size = 4});
	return ring;
}

static void echoes_share_a_decode(void **state)
{
	struct ring *ring = echoing(*state, false, "uint8");
	struct sharer sharers[JOB_SHARERS_MAX];
	assert_int_equal(decode_sharing_find(ring, 0, 1, sharers), 2);
	assert_ptr_equal(sharers[0].ring, ring);
	assert_int_equal(sharers[0].position, 5);
	assert_int_equal(sharers[1].position, 9);
	fixture_make(ring, 9, 10);
	assert_int_equal(decode_sharing_find(ring, 0, 1, sharers), 1);
	assert_int_equal(decode_sharing_find(ring, 0, 13, sharers), 0); /* 17 and 21: no room */
	assert_true(decode_sharing_soon(ring, 0, 13));
	assert_false(decode_sharing_soon(ring, 0, 1));
}

static void echoes_of_other_streams(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = echoing(fixture, false, "uint8");
	struct ring *other = echoing(fixture, false, "float32");
	struct sharer sharers[JOB_SHARERS_MAX];
	assert_int_equal(decode_sharing_find(ring, 0, 1, sharers), 5);
	unsigned others = 0;
	for (int i = 0; i < 5; i++)
		others += sharers[i].ring == other;
	assert_int_equal(others, 3);
}

/* It needs the picture of its partner as well, which no echo has. */
static void a_mixed_sample_shares_at_its_own_position(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = echoing(fixture, true, "uint8");
	struct ring *other = echoing(fixture, true, "float32");
	struct sharer sharers[JOB_SHARERS_MAX];
	assert_int_equal(decode_sharing_find(ring, 0, 1, sharers), 1);
	assert_ptr_equal(sharers[0].ring, other);
	assert_int_equal(sharers[0].position, 1);
	assert_false(decode_sharing_soon(ring, 0, 13));
}

static void there_is_room_for_so_many_sharers(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, SLOTS);
	struct sharer sharers[JOB_SHARERS_MAX];
	for (uint64_t seed = 1; seed <= JOB_SHARERS_MAX + 1; seed++)
		another(fixture, seed);
	assert_int_equal(decode_sharing_find(ring, 0, 0, sharers), JOB_SHARERS_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_CASE(a_picture_is_wanted_in_another_stream),
		FIXTURE_CASE(a_ring_of_the_same_stream_is_no_sharer),
		FIXTURE_CASE(another_users_ring_is_no_sharer),
		FIXTURE_CASE(only_what_a_reader_will_get),
		FIXTURE_CASE(a_window_that_can_move_counts),
		FIXTURE_CASE(soon_is_half_a_window),
		FIXTURE_CASE(echoes_share_a_decode),
		FIXTURE_CASE(echoes_of_other_streams),
		FIXTURE_CASE(a_mixed_sample_shares_at_its_own_position),
		FIXTURE_CASE(there_is_room_for_so_many_sharers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
