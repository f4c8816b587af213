// SPDX-License-Identifier: MIT
/* Whose turn it is: shares by weight, who waits first, rings that meet, nobody left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "loop/reader.h"
#include "loop/ring.h"
#include "loop/server.h"
#include "loop/stream.h"
#include "loop/turn.h"

#define STREAMS 3
#define MOST 6

/* A few streams with up to MOST readers; each reader has a ring of its own unless it is put on
 * another's. */
struct line {
	struct server server;
	struct stream streams[STREAMS];
	struct ring rings[MOST];
	struct reader readers[MOST];
	uint64_t turns[MOST]; /* that the readers had */
	uint64_t cost_ns[STREAMS];
};

static int setup(void **state)
{
	struct line *line = calloc(1, sizeof(*line));
	assert_non_null(line);
	list_init(&line->server.hungry);
	for (int i = 0; i < STREAMS; i++) {
		turn_init(&line->streams[i].turn);
		line->cost_ns[i] = 1000000;
	}
	*state = line;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

/* A reader that always waits: whatever is made for it, it takes at once. */
static void put(struct line *line, int reader, int stream, uint64_t base, unsigned priority)
{
	struct ring *ring = &line->rings[reader];
	*ring = (struct ring){.server = &line->server,
			      .stream = &line->streams[stream],
			      .stride = 1000,
			      .base = base};
	line->readers[reader] = (struct reader){
		.ring = ring, .share.batch_size = 4, .inflight = 2, .priority = priority};
	list_init(&line->readers[reader].in_hungry);
	turn_enter(&line->readers[reader]);
}

static void run(struct line *line, int turns)
{
	memset(line->turns, 0, sizeof(line->turns));
	for (int i = 0; i < turns; i++) {
		struct reader *reader = turn_next(&line->server);
		assert_non_null(reader);
		struct stream *stream = reader->ring->stream;
		turn_leave(reader);
		turn_charge(reader);
		turn_enter(reader);
		turn_settle(&stream->turn, line->cost_ns[stream - line->streams]);
		line->turns[reader - line->readers]++;
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
	assert_near(line->turns[0], 1000);
	assert_near(line->turns[1], 3000);
}

/* Ten times the work a sample: a tenth of the samples. */
static void shares_are_of_time(void **state)
{
	struct line *line = *state;
	put(line, 0, 0, 0, 10);
	put(line, 1, 1, 0, 10);
	line->cost_ns[0] *= 10;
	run(line, 11000);
	assert_near(line->turns[0], 1000);
	assert_near(line->turns[1], 10000);
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
	assert_near(line->turns[4], 1000);
	for (int i = 0; i < 4; i++)
		assert_near(line->turns[i], 500);
}

static void who_was_away_saved_nothing(void **state)
{
	struct line *line = *state;
	put(line, 0, 0, 0, 10);
	put(line, 1, 1, 0, 10);
	turn_leave(&line->readers[1]);
	run(line, 5000);
	assert_int_equal(line->turns[0], 5000);
	turn_enter(&line->readers[1]);
	run(line, 1000);
	assert_near(line->turns[0], 500);
	assert_near(line->turns[1], 500);
}

/* Reader 0 holds all that it asked for, reader 1 does not: 1 is first, whatever its weight. */
static void who_waits_is_first(void **state)
{
	struct line *line = *state;
	put(line, 0, 0, 0, 100);
	put(line, 1, 1, 0, 1);
	line->readers[0].leased = 2;
	run(line, 100);
	assert_int_equal(line->turns[1], 100);
	line->readers[1].leased = 2;
	run(line, 1010);
	assert_in_range(line->turns[0], 900, 1010);
}

static void least_lead_is_first(void **state)
{
	struct line *line = *state;
	for (int i = 0; i < 3; i++) {
		put(line, i, 0, 0, 10);
		line->readers[i].ring = &line->rings[0];
		line->readers[i].wanted = (uint64_t)(3 - i);
	}
	run(line, 10);
	assert_int_equal(line->turns[2], 10);
}

/* The rings of a stream meet, and each gets its part: the leader a quarter, all between a quarter
 * together. Ring 3 is far into an epoch, but the epoch is an earlier one. */
static void rings_meet(void **state)
{
	struct line *line = *state;
	const uint64_t bases[] = {1500, 2300, 1100, 900};
	for (int i = 0; i < 4; i++)
		put(line, i, 0, bases[i], 10);
	run(line, 4000);
	assert_near(line->turns[1], 1000);
	assert_near(line->turns[0], 500);
	assert_near(line->turns[2], 500);
	assert_near(line->turns[3], 2000);
	turn_leave(&line->readers[0]);
	turn_leave(&line->readers[2]);
	run(line, 4000);
	assert_near(line->turns[1], 1000);
	assert_near(line->turns[3], 3000);
}

static void nobody_is_hungry(void **state)
{
	struct line *line = *state;
	assert_null(turn_next(&line->server));
	put(line, 0, 0, 0, 10);
	turn_leave(&line->readers[0]);
	assert_null(turn_next(&line->server));
	turn_deinit(&line->streams[0].turn);
}

/* What was taken back before it was begun costs nothing. */
static void a_refund(void **state)
{
	struct line *line = *state;
	put(line, 0, 0, 0, 10);
	put(line, 1, 1, 0, 10);
	run(line, 1000);
	uint64_t before = line->streams[0].turn.virtual_time;
	for (int i = 0; i < 50; i++)
		turn_charge(&line->readers[0]);
	assert_true(line->streams[0].turn.virtual_time > before);
	for (int i = 0; i < 50; i++)
		turn_refund(&line->streams[0].turn);
	assert_int_equal(line->streams[0].turn.virtual_time, before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(shares_are_by_weight, setup, teardown),
		cmocka_unit_test_setup_teardown(shares_are_of_time, setup, teardown),
		cmocka_unit_test_setup_teardown(many_readers_are_one_stream, setup, teardown),
		cmocka_unit_test_setup_teardown(who_was_away_saved_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(who_waits_is_first, setup, teardown),
		cmocka_unit_test_setup_teardown(least_lead_is_first, setup, teardown),
		cmocka_unit_test_setup_teardown(rings_meet, setup, teardown),
		cmocka_unit_test_setup_teardown(nobody_is_hungry, setup, teardown),
		cmocka_unit_test_setup_teardown(a_refund, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
