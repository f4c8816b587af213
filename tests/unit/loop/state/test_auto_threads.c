// SPDX-License-Identifier: MIT
/* `auto` in machines of arithmetic: within 30 s near the best number, then quiet; back when cores
 * are taken away and given back. */
#include <stdio.h>
#include <string.h>

#include "loop/state/auto_threads.h"
#include "tests/unit/test.h"

#define SECOND UINT64_C(1000000000)

/* What a machine can do, and what the trainers would take, in samples a second. */
struct world {
	unsigned processors; /* that it may use */
	double free;	     /* of those, that others leave */
	double decode_s, read_s;
	double reads; /* that the storage serves at once */
	double wanted;
	double noise; /* of what is measured */
};

static double least(double a, double b)
{
	return a < b ? a : b;
}

static double decode_rate(const struct world *world, unsigned workers)
{
	return least(workers, world->free) / world->decode_s;
}

static double read_rate(const struct world *world, unsigned fetchers)
{
	return least(fetchers, world->reads) / world->read_s;
}

static double rate_of(const struct world *world, unsigned workers, unsigned fetchers)
{
	return least(world->wanted, least(decode_rate(world, workers), read_rate(world, fetchers)));
}

static struct auto_look look_at(const struct world *world, unsigned workers, unsigned fetchers,
				unsigned second)
{
	double rate = rate_of(world, workers, fetchers), wait = 1 - rate / world->wanted;
	bool decode = decode_rate(world, workers) < read_rate(world, fetchers);
	double shake = 1 + world->noise * ((second * 7919 % 13) / 6.0 - 1);
	return (struct auto_look){
		.waits = {decode ? wait : 0, decode ? 0 : wait},
		.busy = {least(1, rate * world->decode_s / least(workers, world->free) * shake),
			 least(1, rate * world->read_s / least(fetchers, world->reads) * shake)},
		.idle = world->free - rate * world->decode_s,
		.samples = rate * shake,
		.processors = world->processors,
	};
}

/* The rate at the end; `changes`: how many there were. */
static double live(struct auto_threads *threads, const struct world *world, unsigned from,
		   unsigned seconds, unsigned *changes)
{
	static const bool both[AUTO_ROLES] = {true, true};
	unsigned *workers = &threads->number[AUTO_WORKERS].now;
	unsigned *fetchers = &threads->number[AUTO_FETCHERS].now;
	*changes = 0;
	for (unsigned s = from; s < from + seconds; s++) {
		const struct auto_look look = look_at(world, *workers, *fetchers, s);
		const struct auto_change change =
			auto_threads_look(threads, &look, both, (1000 + s) * SECOND);
		*changes += change.now != change.before;
		assert_true(*workers >= 1 && *workers <= world->processors);
		assert_true(*fetchers >= 1 && *fetchers <= AUTO_FETCHERS_MOST);
		if (change.now != change.before)
			assert_true(change.why[0] != '\0');
	}
	return rate_of(world, *workers, *fetchers);
}

static double best_of(const struct world *world)
{
	double best = 0;
	for (unsigned w = 1; w <= world->processors; w++)
		for (unsigned f = 1; f <= AUTO_FETCHERS_MOST; f++)
			if (rate_of(world, w, f) > best)
				best = rate_of(world, w, f);
	return best;
}

static const struct {
	const char *name;
	struct world world;
	unsigned first; /* workers to begin with */
} worlds[] = {
	{"decode, 2 processors", {2, 2, 0.002, 0.0001, 8, 1e4, 0}, 1},
	{"decode, 2 processors, shaking", {2, 2, 0.002, 0.0001, 8, 1e4, 0.05}, 2},
	{"decode, 8 processors, from 1", {8, 8, 0.002, 0.0001, 8, 1e5, 0.03}, 1},
	{"decode, 32 processors, from 1", {32, 32, 0.002, 0.00002, 8, 1e6, 0.02}, 1},
	{"storage that serves 16 at once", {2, 2, 0.0005, 0.02, 16, 1e4, 0.02}, 2},
	{"storage that serves one at once", {2, 2, 0.0005, 0.002, 1, 1e4, 0.02}, 2},
	{"storage that serves many", {8, 8, 0.0005, 0.01, 1000, 1e5, 0.02}, 8},
	{"trainer, 2 processors", {2, 2, 0.002, 0.0001, 8, 100, 0.05}, 2},
	{"trainer, 16 processors", {16, 16, 0.002, 0.0001, 8, 900, 0.05}, 16},
};

static void test_worlds(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(worlds) / sizeof(*worlds); i++) {
		const struct world *world = &worlds[i].world;
		struct auto_threads threads;
		unsigned first, later;
		auto_threads_init(&threads, worlds[i].first);
		double rate = live(&threads, world, 0, 30, &first);
		if (rate < 0.9 * best_of(world))
			fail_msg("%s: %.0f a second after 30 s with %u and %u, the best is %.0f",
				 worlds[i].name, rate, threads.number[0].now, threads.number[1].now,
				 best_of(world));
		rate = live(&threads, world, 60, 600, &later);
		if (later > 60 || rate < 0.9 * best_of(world))
			fail_msg("%s: %u changes in 10 minutes, %.0f a second at the end",
				 worlds[i].name, later, rate);
	}
}

/* Another program takes a processor and gives it back. */
static void test_processors_come_and_go(void **state)
{
	struct world world = {4, 4, 0.002, 0.0001, 8, 1e4, 0.02};
	struct auto_threads threads;
	unsigned changes;
	(void)state;
	auto_threads_init(&threads, 4);
	assert_true(live(&threads, &world, 0, 30, &changes) >= 0.9 * best_of(&world));
	world.free = 1.5;
	assert_true(live(&threads, &world, 100, 60, &changes) >= 0.9 * best_of(&world));
	assert_true(changes <= 6);
	world.free = 4;
	assert_true(live(&threads, &world, 200, 30, &changes) >= 0.9 * best_of(&world));
	world.processors = 2; /* the quota is another one */
	(void)auto_threads_look(&threads, &(struct auto_look){.processors = 2},
				(const bool[]){true, true}, 1300 * SECOND);
	for (int i = 0; i < 20; i++)
		(void)auto_threads_look(&threads, &(struct auto_look){.processors = 2},
					(const bool[]){true, true}, (1301 + (uint64_t)i) * SECOND);
	assert_true(threads.number[AUTO_WORKERS].now <= 2);
}

static void test_what_is_not_auto_stays(void **state)
{
	const struct world world = {8, 8, 0.002, 0.02, 16, 1e4, 0};
	struct auto_threads threads;
	(void)state;
	auto_threads_init(&threads, 2);
	for (unsigned s = 0; s < 60; s++) {
		const struct auto_look look =
			look_at(&world, threads.number[0].now, threads.number[1].now, s);
		(void)auto_threads_look(&threads, &look, (const bool[]){false, true},
					(1000 + s) * SECOND);
	}
	assert_int_equal(threads.number[AUTO_WORKERS].now, 2);
	assert_true(threads.number[AUTO_FETCHERS].now > 8);
}

/* Nobody reads: nothing is measured, nothing runs away. */
static void test_idle(void **state)
{
	struct auto_threads threads;
	(void)state;
	auto_threads_init(&threads, 4);
	for (unsigned s = 0; s < 1000; s++)
		(void)auto_threads_look(&threads, &(struct auto_look){.idle = 4, .processors = 4},
					(const bool[]){true, true}, (1000 + s) * SECOND);
	assert_int_equal(threads.number[AUTO_WORKERS].now, 4);
	assert_int_equal(threads.number[AUTO_FETCHERS].now, AUTO_FETCHERS_FIRST);
}

/* A trainer stands still for a while, as for an evaluation: it finds the threads that it left. */
static void test_a_pause(void **state)
{
	const struct world world = {4, 4, 0.002, 0.01, 1000, 1e4, 0.02};
	struct auto_threads threads;
	unsigned changes;
	(void)state;
	auto_threads_init(&threads, 4);
	(void)live(&threads, &world, 0, 30, &changes);
	unsigned workers = threads.number[AUTO_WORKERS].now;
	unsigned fetchers = threads.number[AUTO_FETCHERS].now;
	assert_true(fetchers > AUTO_FETCHERS_FIRST);
	for (unsigned s = 60; s < 160; s++)
		(void)auto_threads_look(&threads, &(struct auto_look){.idle = 4, .processors = 4},
					(const bool[]){true, true}, (1000 + s) * SECOND);
	assert_int_equal(threads.number[AUTO_WORKERS].now, workers);
	assert_int_equal(threads.number[AUTO_FETCHERS].now, fetchers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_worlds),
		cmocka_unit_test(test_processors_come_and_go),
		cmocka_unit_test(test_what_is_not_auto_stays),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_a_pause),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
