// SPDX-License-Identifier: MIT
/* The scheduler: users share evenly, flows by weight, readers that wait go first, rings meet,
 * limits hold, nobody starves. */
#include <stdlib.h>
#include <string.h>

#include "loop/policy/scheduler.h"
#include "loop/state/reader.h"
#include "loop/state/ring.h"
#include "loop/state/user.h"
#include "tests/unit/test.h"

#define STREAMS 3
#define MOST 6

#define ALICE 1000
#define BOB 1001

/* A few streams with up to MOST readers; each reader has a ring of its own unless it is put on
 * another's. */
struct line {
	struct users users;
	unsigned queued_max;
	struct ring rings[MOST];
	struct reader readers[MOST];
	uint64_t picks[MOST]; /* that the readers had */
	uint64_t cost_ns[STREAMS];
};

static int setup(void **state)
{
	struct line *line = calloc(1, sizeof(*line));
	assert_non_null(line);
	users_init(&line->users);
	for (int i = 0; i < STREAMS; i++)
		line->cost_ns[i] = 1000000;
	*state = line;
	return 0;
}

static void take(struct reader *reader)
{
	flow_leave(reader);
	flow_put(reader->flow);
	reader->flow = NULL;
}

static int teardown(void **state)
{
	struct line *line = *state;
	for (int i = 0; i < MOST; i++)
		if (line->readers[i].flow)
			take(&line->readers[i]);
	assert_true(list_empty(&line->users.all)); /* nothing is left of them */
	free(line);
	return 0;
}

/* A reader that always waits: whatever is made for it, it takes at once. */
static void put_of(struct line *line, uid_t uid, int reader, int stream, uint64_t base,
		   unsigned priority)
{
	struct ring *ring = &line->rings[reader];
	*ring = (struct ring){.stride = 1000, .base = base};
	line->readers[reader] = (struct reader){
		.ring = ring, .share.batch_size = 4, .inflight = 2, .priority = priority};
	list_init(&line->readers[reader].in_runnable);
	assert_int_equal(flow_get(&line->readers[reader].flow, &line->users, uid, (uint64_t)stream),
			 0);
	flow_enter(&line->readers[reader]);
}

static void put(struct line *line, int reader, int stream, uint64_t base, unsigned priority)
{
	put_of(line, ALICE, reader, stream, base, priority);
}

static struct reader *pick(struct line *line)
{
	users_refresh(&line->users, line->queued_max, 2, 1);
	struct reader *reader = scheduler_pick(&line->users, line->queued_max);
	if (reader)
		flow_scheduled(reader);
	return reader;
}

/* The reader that is picked orders one sample. */
static struct reader *order(struct line *line)
{
	struct reader *reader = pick(line);
	if (!reader)
		return NULL;
	flow_leave(reader);
	flow_charge(reader->flow);
	flow_enter(reader);
	return reader;
}

static void run(struct line *line, int picks)
{
	memset(line->picks, 0, sizeof(line->picks));
	for (int i = 0; i < picks; i++) {
		struct reader *reader = order(line);
		assert_non_null(reader);
		flow_settle(reader->flow, line->cost_ns[reader->flow->stream]);
		line->picks[reader - line->readers]++;
	}
}

static void assert_near(uint64_t number, uint64_t wanted)
{
	assert_in_range(number, wanted - wanted / 20 - 2, wanted + wanted / 20 + 2);
}

static void shares_are_by_weight(void **state)
{
	struct line *line = *state;
	put(line, 0, 0, 0, 10);
	put(line, 1, 1, 0, 30);
	run(line, 4000);
	assert_near(line->picks[0], 1000);
	assert_near(line->picks[1], 3000);
}

/* Ten times the work a sample: a tenth of the samples. */
static void shares_are_of_time(void **state)
{
	struct line *line = *state;
	put(line, 0, 0, 0, 10);
	put(line, 1, 1, 0, 10);
	line->cost_ns[0] *= 10;
	run(line, 11000);
	assert_near(line->picks[0], 1000);
	assert_near(line->picks[1], 10000);
}

/* A stream counts once, however many read it; the largest of their weights counts. */
static void many_readers_are_one_stream(void **state)
{
	struct line *line = *state;
	for (int i = 0; i < 4; i++) {
		put(line, i, 0, 0, i == 2 ? 20 : 1);
		line->readers[i].ring = &line->rings[0];
	}
	put(line, 4, 1, 0, 10);
	run(line, 3000);
	assert_near(line->picks[4], 1000);
	for (int i = 0; i < 4; i++)
		assert_near(line->picks[i], 500);
}

static void idle_flows_save_no_credit(void **state)
{
	struct line *line = *state;
	put(line, 0, 0, 0, 10);
	put(line, 1, 1, 0, 10);
	flow_leave(&line->readers[1]);
	run(line, 5000);
	assert_int_equal(line->picks[0], 5000);
	flow_enter(&line->readers[1]);
	run(line, 1000);
	assert_near(line->picks[0], 500);
	assert_near(line->picks[1], 500);
}

/* Reader 0 holds all that it asked for, reader 1 does not: 1 is first, whatever its weight. */
static void waiting_readers_go_first(void **state)
{
	struct line *line = *state;
	put(line, 0, 0, 0, 100);
	put(line, 1, 1, 0, 1);
	line->readers[0].leased = 2;
	run(line, 100);
	assert_int_equal(line->picks[1], 100);
	line->readers[1].leased = 2;
	run(line, 1010);
	assert_in_range(line->picks[0], 900, 1010);
}

/* Reader 1 holds all that it asked for while 0 has thousands of turns; so does another user's. */
static void satisfied_flows_save_little_credit(void **state)
{
	struct line *line = *state;
	put(line, 0, 0, 0, 10);
	put(line, 1, 1, 0, 10);
	put_of(line, BOB, 2, 2, 0, 10);
	line->readers[1].leased = line->readers[2].leased = 2;
	run(line, 5000);
	assert_int_equal(line->picks[0], 5000);
	line->readers[1].leased = line->readers[2].leased = 0;
	run(line, 400);
	assert_in_range(line->picks[0], 50, 100);
	assert_in_range(line->picks[1], 100, 150);
	assert_in_range(line->picks[2], 200, 250);
}

/* Whoever has how much ahead, and needs how many for a batch. */
static void readers_of_a_ring_take_turns(void **state)
{
	struct line *line = *state;
	for (int i = 0; i < 3; i++) {
		put(line, i, 0, 0, 10);
		line->readers[i].ring = &line->rings[0];
		line->readers[i].wanted = (uint64_t)(16 * i);
	}
	run(line, 30);
	for (int i = 0; i < 3; i++)
		assert_int_equal(line->picks[i], 10);
}

/* The rings of a stream meet, and none starves for that, however many read another: the hindmost
 * has half of the turns, who has waited longest a quarter, and all others the same. Ring 3 is far
 * into an epoch, but an earlier one. */
static void rings_meet(void **state)
{
	struct line *line = *state;
	const uint64_t bases[] = {1500, 2300, 1100, 900};
	for (int i = 0; i < 4; i++)
		put(line, i, 0, bases[i], 10);
	for (int i = 4; i < MOST; i++) {
		put(line, i, 0, 0, 10);
		line->readers[i].ring = &line->rings[0];
	}
	for (int i = 0; i < MOST; i++)
		line->readers[i].wait.wants_since_ns = i == 1 ? 1 : 2;
	run(line, 6000);
	assert_near(line->picks[0] + line->picks[4] + line->picks[5], 750);
	assert_near(line->picks[1], 1500);
	assert_near(line->picks[2], 750);
	assert_near(line->picks[3], 3000);
	for (int i = 0; i < MOST; i++)
		if (i != 1 && i != 3)
			flow_leave(&line->readers[i]);
	run(line, 4000);
	assert_near(line->picks[1], 2000);
	assert_near(line->picks[3], 2000);
}

static void nobody_is_runnable(void **state)
{
	struct line *line = *state;
	assert_null(pick(line));
	put(line, 0, 0, 0, 10);
	flow_leave(&line->readers[0]);
	assert_null(pick(line));
}

/* What was taken back before it was begun costs nothing. */
static void a_refund(void **state)
{
	struct line *line = *state;
	put(line, 0, 0, 0, 10);
	put(line, 1, 1, 0, 10);
	run(line, 1000);
	struct flow *flow = line->readers[0].flow;
	uint64_t before = flow->virtual_time, users = flow->user->virtual_time;
	for (int i = 0; i < 50; i++)
		flow_charge(flow);
	assert_true(flow->virtual_time > before && flow->user->virtual_time > users);
	for (int i = 0; i < 50; i++)
		flow_refund(flow);
	assert_int_equal(flow->virtual_time, before);
	assert_int_equal(flow->user->virtual_time, users);
}

/* One stream of low priority has as much as all that another user has; that one's share among
 * themselves by weight. */
static void users_weigh_alike(void **state)
{
	struct line *line = *state;
	put_of(line, ALICE, 0, 0, 0, 100);
	put_of(line, ALICE, 1, 1, 0, 100);
	put_of(line, ALICE, 2, 1, 0, 100);
	put_of(line, BOB, 3, 2, 0, 1);
	run(line, 4000);
	assert_near(line->picks[0], 1000);
	assert_near(line->picks[1] + line->picks[2], 1000);
	assert_near(line->picks[3], 2000);
	line->cost_ns[2] *= 4; /* of time, not of samples */
	run(line, 5000);
	assert_near(line->picks[3], 1000);
}

/* What another user orders of a stream costs nobody else. */
static void users_of_one_stream(void **state)
{
	struct line *line = *state;
	put_of(line, ALICE, 0, 0, 0, 10);
	put_of(line, ALICE, 1, 1, 0, 10);
	for (int i = 2; i < 5; i++)
		put_of(line, BOB, i, 0, 5000, 100);
	run(line, 4000);
	assert_near(line->picks[0], 1000);
	assert_near(line->picks[1], 1000);
	assert_near(line->picks[2] + line->picks[3] + line->picks[4], 2000);
}

static void the_user_waiting_readers_go_first(void **state)
{
	struct line *line = *state;
	put_of(line, ALICE, 0, 0, 0, 100);
	put_of(line, ALICE, 1, 1, 0, 100);
	put_of(line, BOB, 2, 2, 0, 1);
	line->readers[0].leased = line->readers[1].leased = 2;
	run(line, 100);
	assert_int_equal(line->picks[2], 100);
}

/* Who has all queued that it may is passed over, for nothing saved up, until one is back. */
static void a_user_at_the_limit(void **state)
{
	struct line *line = *state;
	struct reader *reader;
	put_of(line, ALICE, 0, 0, 0, 10);
	put_of(line, BOB, 1, 1, 0, 10);
	run(line, 1000);
	line->queued_max = 3;
	for (int i = 0; i < 6; i++)
		order(line);
	struct flow *alice = line->readers[0].flow, *bob = line->readers[1].flow;
	assert_true(user_is_full(alice->user, 3) && user_is_full(bob->user, 3));
	assert_null(order(line));
	for (int i = 0; i < 100; i++) {
		flow_settle(bob, line->cost_ns[1]);
		reader = order(line);
		assert_ptr_equal(reader, &line->readers[1]);
	}
	flow_settle(alice, line->cost_ns[0]);
	assert_ptr_equal(order(line), &line->readers[0]);
	while (alice->queued)
		flow_settle(alice, line->cost_ns[0]);
	while (bob->queued)
		flow_settle(bob, line->cost_ns[1]);
	line->queued_max = 0;
	run(line, 1000);
	assert_near(line->picks[0], 500);
}

/* Where two users read, one whose samples take long leaves a worker free for the other. */
static void long_samples_leave_a_worker(void **state)
{
	struct line *line = *state;
	put_of(line, ALICE, 0, 0, 0, 10);
	put_of(line, BOB, 1, 1, 0, 10);
	struct flow *alice = line->readers[0].flow, *bob = line->readers[1].flow;
	bob->cost_ns = 3000000000;
	flow_leave(&line->readers[0]);
	assert_ptr_equal(order(line), &line->readers[1]);
	assert_ptr_equal(order(line), &line->readers[1]); /* nobody else reads */
	alice->user->attached = bob->user->attached = 1;
	assert_null(order(line)); /* two workers, and he has them */
	flow_settle(bob, 3000000000);
	assert_null(order(line));
	flow_settle(bob, 3000000000);
	assert_ptr_equal(order(line), &line->readers[1]);
	flow_enter(&line->readers[0]);
	alice->cost_ns = 1000000;
	for (int i = 0; i < 20; i++)
		assert_ptr_equal(order(line), &line->readers[0]);
	while (alice->queued)
		flow_settle(alice, 1000000);
	flow_settle(bob, 3000000000);
	alice->user->attached = bob->user->attached = 0;
}

/* Nobody knows what samples cost that are like none before: where two users read, one has no more
 * queued than a third of what the pool takes, however cheap its samples were so far. */
static void cheap_samples_do_not_fill_the_queue(void **state)
{
	struct line *line = *state;
	put_of(line, ALICE, 0, 0, 0, 10);
	put_of(line, BOB, 1, 1, 0, 10);
	struct flow *alice = line->readers[0].flow, *bob = line->readers[1].flow;
	alice->user->attached = bob->user->attached = 1;
	bob->cost_ns = 1000;
	flow_leave(&line->readers[0]);
	for (int i = 0; i < 2 * AHEAD_JOBS / 3; i++)
		assert_ptr_equal(order(line), &line->readers[1]);
	assert_null(order(line));
	alice->user->attached = 0;
	assert_ptr_equal(order(line), &line->readers[1]); /* alone it may have all */
	bob->user->attached = 0;
	while (bob->queued)
		flow_settle(bob, 1000);
}

/* What is queued for who has left holds its user, and counts for the limit. */
static void what_is_queued_outlives_its_reader(void **state)
{
	struct line *line = *state;
	line->queued_max = 2;
	put_of(line, ALICE, 0, 0, 0, 10);
	order(line);
	order(line);
	struct flow *left = line->readers[0].flow;
	take(&line->readers[0]);
	put_of(line, ALICE, 1, 1, 0, 10);
	assert_null(order(line));
	flow_settle(left, 1000000);
	assert_ptr_equal(order(line), &line->readers[1]);
	take(&line->readers[1]);
	assert_false(list_empty(&line->users.all));
	struct user *alice = list_entry(line->users.all.next, struct user, link);
	while (!list_empty(&line->users.all))
		flow_refund(list_entry(alice->flows.next, struct flow, link));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(shares_are_by_weight, setup, teardown),
		cmocka_unit_test_setup_teardown(shares_are_of_time, setup, teardown),
		cmocka_unit_test_setup_teardown(many_readers_are_one_stream, setup, teardown),
		cmocka_unit_test_setup_teardown(idle_flows_save_no_credit, setup, teardown),
		cmocka_unit_test_setup_teardown(waiting_readers_go_first, setup, teardown),
		cmocka_unit_test_setup_teardown(satisfied_flows_save_little_credit, setup,
						teardown),
		cmocka_unit_test_setup_teardown(readers_of_a_ring_take_turns, setup, teardown),
		cmocka_unit_test_setup_teardown(rings_meet, setup, teardown),
		cmocka_unit_test_setup_teardown(nobody_is_runnable, setup, teardown),
		cmocka_unit_test_setup_teardown(a_refund, setup, teardown),
		cmocka_unit_test_setup_teardown(users_weigh_alike, setup, teardown),
		cmocka_unit_test_setup_teardown(users_of_one_stream, setup, teardown),
		cmocka_unit_test_setup_teardown(the_user_waiting_readers_go_first, setup, teardown),
		cmocka_unit_test_setup_teardown(a_user_at_the_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(cheap_samples_do_not_fill_the_queue, setup,
						teardown),
		cmocka_unit_test_setup_teardown(long_samples_leave_a_worker, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_queued_outlives_its_reader, setup,
						teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
