// SPDX-License-Identifier: MIT
/* Stragglers: who is held back and by whom, who may go on in another ring and from where, who may
 * merge; and the status that each reader shows. */
#include "tests/unit/loop/fixture.h"

#include <string.h>

#include "loop/policy/reader_status.h"
#include "loop/policy/straggler.h"
#include "loop/state/outbox.h"

#define SLOTS 16
#define FOUR ((struct reader){.share.batch_size = 4})

/* So many batches are announced to it and released. */
static void feed(struct reader *reader, unsigned batches)
{
	for (unsigned i = 0; i < batches; i++) {
		reader_advance(reader);
		reader->announced += reader->share.batch_size;
		reader->checked = 0;
	}
	reader->want = reader->next;
	reader->wanted = reader->announced;
	reader->ordered = 0;
}

/* A reader that has had all that the window holds; its next batch does not fit. */
static struct reader *starving(struct fixture *fixture, struct ring *ring,
			       const struct reader *like)
{
	struct reader *reader = fixture_reader(fixture, ring, like);
	feed(reader, SLOTS / 4);
	reader->slot_wait = true;
	return reader;
}

static struct reader *named(struct fixture *fixture, struct ring *ring, const char *job,
			    uint64_t rank, uint64_t world)
{
	struct reader like = {.share = {.batch_size = 4, .rank = rank, .world = world}};
	strcpy(like.job, job);
	return fixture_reader(fixture, ring, &like);
}

/* -- jobs --------------------------------------------------------------------------------- */

static void ranks_of_a_job(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, SLOTS);
	struct reader *zero = named(fixture, ring, "train", 0, 2);
	struct reader *one = named(fixture, ring, "train", 1, 2);
	struct reader *other = named(fixture, ring, "tune", 1, 2);
	struct reader *world = named(fixture, ring, "train", 1, 3);
	struct reader like = {.share = {.batch_size = 4, .rank = 1, .world = 2}, .uid = BOB};
	strcpy(like.job, "train");
	struct reader *bobs = fixture_reader(fixture, ring, &like);
	struct reader *a = fixture_reader(fixture, ring, &FOUR);
	struct reader *b = fixture_reader(fixture, ring, &FOUR);
	assert_true(straggler_same_job(zero, one) && straggler_same_job(one, zero));
	assert_false(straggler_same_job(zero, other));
	assert_false(straggler_same_job(zero, world));
	assert_false(straggler_same_job(one, bobs));
	assert_false(straggler_same_job(a, b)); /* without a name each is its own job */
	assert_true(straggler_same_job(a, a));
}

/* -- held back ---------------------------------------------------------------------------- */

static void who_starves(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, SLOTS);
	struct reader *fast = starving(fixture, ring, &FOUR);
	assert_true(straggler_starves(fast));
	fast->slot_wait = false;
	assert_false(straggler_starves(fast));
	fast->slot_wait = true;
	fast->leased = fast->inflight; /* the trainer is at work */
	assert_false(straggler_starves(fast));
	fast->leased = 0;
	fast->wanted += 4; /* a batch is still on its way */
	assert_false(straggler_starves(fast));
	fast->ordered = 4; /* part of the batch that does not fit */
	assert_true(straggler_starves(fast));
	fast->move.ring = ring;
	assert_false(straggler_starves(fast));
	fast->move.ring = NULL;
	fast->end_epoch = 0;
	assert_false(straggler_starves(fast));
}

static void another_job_holds_the_window(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, SLOTS);
	struct reader *fast = starving(fixture, ring, &FOUR);
	struct reader *slow = fixture_reader(fixture, ring, &FOUR);
	assert_true(straggler_may_fork(fast));
	assert_false(straggler_may_fork(slow));
	slow->pace = PACE_TOGETHER; /* it may not be left behind */
	assert_false(straggler_may_fork(fast));
	slow->pace = PACE_AUTO;
	fast->pace = PACE_TOGETHER; /* it may not leave the other behind */
	assert_false(straggler_may_fork(fast));
	fast->pace = PACE_FREE;
	fast->moves = false; /* its client cannot follow */
	assert_false(straggler_may_fork(fast));
	fast->moves = true;
	assert_true(straggler_may_fork(fast));
	feed(slow, 1); /* the window can move */
	assert_false(straggler_may_fork(fast));
}

static void a_lease_of_another_holds_the_window(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, SLOTS);
	struct lease_book book;
	struct lease *lease;
	lease_book_init(&book);
	struct reader *fast = starving(fixture, ring, &FOUR);
	struct reader *other = fixture_reader(fixture, ring, &(struct reader){.book = &book});
	assert_int_equal(lease_new(&lease, other, 0, 4), 0);
	feed(other, 2);
	assert_true(straggler_may_fork(fast));
	other->pace = PACE_TOGETHER;
	assert_false(straggler_may_fork(fast));
	fixture_leave(other); /* its lease stays, its pace does not count */
	assert_true(straggler_may_fork(fast));
	lease->book = &fixture->book; /* of an earlier reader of the same client */
	assert_true(straggler_may_fork(fast));
	assert_ptr_equal(straggler_kept(fast), lease);
	lease->book = &book;
	assert_null(straggler_kept(fast));
	lease_book_deinit(&book);
}

static bool nothing_is_read(const struct outbox *outbox)
{
	(void)outbox;
	return false;
}

/* Who waits for another batch gives none back before. */
static void a_batch_that_is_kept_holds_the_window(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, SLOTS);
	struct reader *reader = starving(fixture, ring, &FOUR);
	struct outbox busy = {.is_read = nothing_is_read}, *waits = reader->outbox;
	struct lease *lease;
	assert_int_equal(lease_new(&lease, reader, 4, 4), 0);
	assert_null(straggler_kept(reader)); /* the next sample goes where the one before it was */
	lease_drop(lease);
	assert_int_equal(lease_new(&lease, reader, 0, 4), 0);
	assert_ptr_equal(straggler_kept(reader), lease);
	assert_true(straggler_may_fork(reader));
	reader->pace = PACE_TOGETHER; /* nobody is left behind */
	assert_true(straggler_may_fork(reader));
	reader->outbox = &busy; /* it has a batch that it has not received yet */
	assert_false(straggler_may_fork(reader));
	reader->outbox = waits;
	reader->inflight = 4; /* all of the ring may be in flight: it may well give it back */
	assert_false(straggler_has_room(reader));
	assert_false(straggler_may_fork(reader));
	reader->inflight = 3;
	assert_true(straggler_may_fork(reader));
	lease_drop(lease);
}

/* A rank that waits for slots itself gives nothing back; one that trains does. */
static void a_batch_that_another_rank_keeps(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, SLOTS);
	struct reader *zero = named(fixture, ring, "train", 0, 2);
	struct reader *one = named(fixture, ring, "train", 1, 2);
	struct lease_book book; /* of another connection */
	struct lease *lease;
	assert_int_equal(lease_new(&lease, zero, 0, 4), 0);
	zero->inflight = one->inflight = 1;
	zero->leased = 0; /* credit for another one */
	feed(zero, 2);
	feed(one, 2);
	one->slot_wait = true;
	assert_false(straggler_may_fork(one));
	zero->slot_wait = true;
	assert_true(straggler_may_fork(one) && straggler_may_fork(zero));
	zero->book = &book;
	lease->book = &book;
	assert_null(straggler_kept(one)); /* that is not its own to release */
	lease->book = zero->book = one->book;
	zero->leased = 1;
	lease_drop(lease);
}

static void one_that_arrives_holds_the_window(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, SLOTS);
	struct ring *before = fixture_ring(fixture->stream, SLOTS);
	struct reader *fast = starving(fixture, ring, &FOUR);
	struct reader *arrival = fixture_reader(fixture, before, &FOUR);
	list_append(&ring->arrivals, &arrival->move.link);
	ring_claim(ring, &arrival->move.claim, 0);
	assert_true(straggler_may_fork(fast));
	arrival->move.claim.ordinal = 4;
	assert_false(straggler_may_fork(fast));
}

static void ranks_move_together_or_not_at_all(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, SLOTS);
	struct reader *zero = named(fixture, ring, "train", 0, 2);
	struct reader *one = named(fixture, ring, "train", 1, 2);
	fixture_reader(fixture, ring, &FOUR);
	feed(zero, 2);
	feed(one, 2);
	assert_true(straggler_may_fork(zero) && straggler_may_fork(one));
	one->moves = false;
	assert_false(straggler_may_fork(zero));
	one->moves = true;
	one->pace = PACE_TOGETHER;
	assert_false(straggler_may_fork(zero));
	one->pace = PACE_AUTO;
	one->end_epoch = 0; /* it has ended: nobody waits for it */
	one->moves = false;
	assert_true(straggler_may_fork(zero));
}

/* Ranks that wait for each other are at the same global batch; one that is behind holds them all.
 */
static void a_slow_rank_holds_its_job(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, SLOTS);
	struct reader *zero = named(fixture, ring, "train", 0, 2);
	struct reader *one = named(fixture, ring, "train", 1, 2);
	fixture_reader(fixture, ring, &FOUR);
	feed(one, 2);
	feed(zero, 1);
	assert_false(straggler_may_fork(one));
	feed(zero, 1);
	assert_true(straggler_may_fork(one));
}

/* -- where to ----------------------------------------------------------------------------- */

static void a_fork_begins_behind_the_window(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, SLOTS);
	struct reader *four = fixture_reader(fixture, ring, &FOUR);
	struct reader *five =
		fixture_reader(fixture, ring, &(struct reader){.share.batch_size = 5});
	struct reader *ends = fixture_reader(
		fixture, ring, &(struct reader){.share.batch_size = 4, .end_epoch = 1});
	assert_int_equal(straggler_fork_at(four).batch, 4);
	assert_int_equal(straggler_fork_at(five).batch, 3); /* 15 to 19 is not wholly held */
	feed(four, 2);
	assert_int_equal(straggler_fork_at(four).batch, 4);
	ring->slots = 2 * SAMPLES; /* the window reaches beyond its end */
	assert_int_equal(straggler_fork_at(ends).epoch, 1);
	ring->slots = SLOTS;
}

static void what_fits_into_a_ring(void **state)
{
	struct fixture *fixture = *state;
	struct ring *from = fixture_ring(fixture->stream, SLOTS);
	struct ring *ring = fixture_ring(fixture->stream, SLOTS);
	struct reader *reader = fixture_reader(fixture, from, &FOUR);
	reader->move.at = (struct cursor){.batch = 3};
	assert_true(straggler_fits(reader, ring));
	reader->move.at.batch = 4; /* beyond its window */
	assert_false(straggler_fits(reader, ring));
	ring->base = 4;
	assert_true(straggler_fits(reader, ring)); /* nobody reads there */
	struct reader *there = fixture_reader(fixture, ring, &FOUR);
	assert_false(straggler_fits(reader, ring)); /* its last sample waits for ordinal 3 */
	reader_advance(there);
	assert_true(straggler_fits(reader, ring));
	ring->segment.transport = SEGMENT_PATH; /* which its client does not take */
	assert_false(straggler_fits(reader, ring));
	ring->segment.transport = SEGMENT_FD;
}

static void all_ranks_have_to_fit(void **state)
{
	struct fixture *fixture = *state;
	struct ring *from = fixture_ring(fixture->stream, SLOTS);
	struct ring *ring = fixture_ring(fixture->stream, SLOTS);
	struct reader *zero = named(fixture, from, "train", 0, 2);
	struct reader *one = named(fixture, from, "train", 1, 2);
	zero->move.at.batch = one->move.at.batch = 1;
	assert_true(straggler_job_fits(zero, ring));
	one->move.at.batch = 2;
	assert_false(straggler_job_fits(zero, ring));
	assert_ptr_equal(straggler_hindmost(one), zero);
	one->move.at.epoch = one->end_epoch; /* it will have ended by then */
	assert_true(straggler_job_fits(zero, ring));
	one->move.at = (struct cursor){0};
	assert_ptr_equal(straggler_hindmost(zero), one);
}

static void where_a_reader_leaves(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, SLOTS);
	struct reader *reader = fixture_reader(fixture, ring, &FOUR);
	const struct cursor before = {1, 0, 4}, at = {1, 0, 5}, after = {2, 0, 0};
	reader->move.at = at;
	assert_false(straggler_leaves_at(reader, &after)); /* it is not settled */
	reader->move.settled = true;
	assert_false(straggler_leaves_at(reader, &before));
	assert_true(straggler_leaves_at(reader, &at));
	assert_true(straggler_leaves_at(reader, &after));
}

/* -- merging ------------------------------------------------------------------------------ */

static void near_is_half_a_ring(void **state)
{
	struct fixture *fixture = *state;
	struct ring *behind = fixture_ring(fixture->stream, SLOTS);
	struct ring *ahead = fixture_ring(fixture->stream, SLOTS);
	struct reader *late = fixture_reader(fixture, behind, &FOUR);
	assert_false(straggler_may_merge(late, ahead)); /* nobody is there */
	struct reader *leader = fixture_reader(fixture, ahead, &FOUR);
	feed(leader, 2);
	assert_true(straggler_may_merge(late, ahead));
	assert_false(straggler_may_merge(leader, behind)); /* backwards */
	assert_false(straggler_may_merge(late, behind));
	feed(leader, 1);
	assert_false(straggler_may_merge(late, ahead));
	feed(late, 1);
	assert_true(straggler_may_merge(late, ahead));
	ahead->made = false;
	assert_false(straggler_may_merge(late, ahead));
	ahead->made = true;
	ahead->base = 5; /* its batch is gone */
	assert_false(straggler_may_merge(late, ahead));
	ahead->base = 4;
	late->moves = false;
	assert_false(straggler_may_merge(late, ahead));
}

/* Two rings at one place: only one of them is ahead, so readers do not swap rings for ever. */
static void the_older_of_two_is_ahead(void **state)
{
	struct fixture *fixture = *state;
	struct ring *older = fixture_ring(fixture->stream, SLOTS);
	struct ring *newer = fixture_ring(fixture->stream, SLOTS);
	struct reader *one = fixture_reader(fixture, older, &FOUR);
	struct reader *other = fixture_reader(fixture, newer, &FOUR);
	assert_true(straggler_may_merge(other, older));
	assert_false(straggler_may_merge(one, newer));
}

static void all_ranks_have_to_be_near(void **state)
{
	struct fixture *fixture = *state;
	struct ring *behind = fixture_ring(fixture->stream, SLOTS);
	struct ring *ahead = fixture_ring(fixture->stream, SLOTS);
	struct reader *zero = named(fixture, behind, "train", 0, 2);
	struct reader *one = named(fixture, behind, "train", 1, 2);
	feed(fixture_reader(fixture, ahead, &FOUR), 4);
	feed(zero, 1);
	assert_false(straggler_job_near(one, ahead));
	assert_false(straggler_job_near(zero, ahead)); /* it is near, its job is not */
	feed(one, 1);
	assert_true(straggler_job_near(zero, ahead) && straggler_job_near(one, ahead));
}

static void the_leader_of_a_stream(void **state)
{
	struct fixture *fixture = *state;
	struct ring *one = fixture_ring(fixture->stream, SLOTS);
	struct ring *other = fixture_ring(fixture->stream, SLOTS);
	assert_null(straggler_leader(fixture->stream, ALICE));
	struct reader *slow = fixture_reader(fixture, one, &FOUR);
	struct reader *fast = fixture_reader(fixture, other, &FOUR);
	struct reader *ended = fixture_reader(fixture, one, &FOUR);
	feed(fast, 1);
	feed(ended, 2);
	ended->end_epoch = 0;
	assert_ptr_equal(straggler_leader(fixture->stream, ALICE), fast);
	assert_null(straggler_leader(fixture->stream, BOB));
	other->stride = 2 * SAMPLES; /* rings may number an epoch's positions differently */
	feed(slow, SAMPLES / 4);
	assert_ptr_equal(straggler_leader(fixture->stream, ALICE), slow);
	other->stride = SAMPLES;
}

/* -- what a reader does ------------------------------------------------------------------- */

static void assert_state(const struct reader *reader, enum reader_state wanted, const char *name,
			 enum wait_state wait)
{
	assert_int_equal(reader_state(reader), wanted);
	assert_string_equal(reader_state_name(wanted), name);
	assert_int_equal(reader_wait_state(reader), wait);
}

static void states_of_a_reader(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, SLOTS);
	struct reader *reader = fixture_reader(fixture, ring, &FOUR);
	assert_state(reader, READER_FILLING, "filling", WAIT_FOR_BATCH);
	reader->stalled = true;
	assert_state(reader, READER_STALLED, "stalled", WAIT_FOR_BATCH);
	reader->leased = reader->inflight;
	assert_state(reader, READER_HOLDING, "holding", WAIT_FOR_TRAINER);
	reader->inflight = 0;
	assert_state(reader, READER_PAUSED, "paused", WAIT_FOR_TRAINER);
	reader->end_epoch = 0;
	assert_state(reader, READER_ENDED, "ended", WAIT_FOR_NOTHING);
}

static void a_reader_waits_for_another(void **state)
{
	struct fixture *fixture = *state;
	struct ring *ring = fixture_ring(fixture->stream, SLOTS);
	struct reader *fast = starving(fixture, ring, &FOUR);
	struct reader *slow = fixture_reader(fixture, ring, &FOUR);
	struct reader *middle = fixture_reader(fixture, ring, &FOUR);
	struct lease *lease;
	feed(middle, 1);
	assert_state(fast, READER_WAITING, "waiting", WAIT_FOR_SLOT);
	assert_ptr_equal(reader_waits_for(fast), slow);
	assert_int_equal(lease_new(&lease, slow, 0, 4), 0);
	feed(slow, 3); /* it holds by its lease */
	assert_ptr_equal(reader_waits_for(fast), slow);
	fast->wanted++; /* a sample that is on its way comes first */
	assert_state(fast, READER_FILLING, "filling", WAIT_FOR_BATCH);
	fast->wanted--;
	struct lease *own;
	assert_int_equal(lease_new(&own, fast, 0, 4), 0);
	assert_state(fast, READER_HOLDING, "holding", WAIT_FOR_TRAINER); /* for itself */
	lease_drop(lease);
	assert_null(reader_waits_for(fast));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_CASE(ranks_of_a_job),
		FIXTURE_CASE(who_starves),
		FIXTURE_CASE(another_job_holds_the_window),
		FIXTURE_CASE(a_lease_of_another_holds_the_window),
		FIXTURE_CASE(a_batch_that_is_kept_holds_the_window),
		FIXTURE_CASE(a_batch_that_another_rank_keeps),
		FIXTURE_CASE(one_that_arrives_holds_the_window),
		FIXTURE_CASE(ranks_move_together_or_not_at_all),
		FIXTURE_CASE(a_slow_rank_holds_its_job),
		FIXTURE_CASE(a_fork_begins_behind_the_window),
		FIXTURE_CASE(what_fits_into_a_ring),
		FIXTURE_CASE(all_ranks_have_to_fit),
		FIXTURE_CASE(where_a_reader_leaves),
		FIXTURE_CASE(near_is_half_a_ring),
		FIXTURE_CASE(the_older_of_two_is_ahead),
		FIXTURE_CASE(all_ranks_have_to_be_near),
		FIXTURE_CASE(the_leader_of_a_stream),
		FIXTURE_CASE(states_of_a_reader),
		FIXTURE_CASE(a_reader_waits_for_another),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
