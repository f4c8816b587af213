// SPDX-License-Identifier: MIT
/*
 * Which pictures are kept: what a cache that knows the orders hits, against a simulation (Belady's
 * choice among those that come by: two streams of orders of their own hit 0.49 at a quarter of the
 * dataset, one 0.25) and against one that evicts nothing. Time is made up.
 */
#include <stdio.h>
#include <string.h>

#include "base/order.h"
#include "cache/picture_cache.h"
#include "tests/unit/test.h"

#define SAMPLES 2000
#define ROOM 4096
#define SECOND ((uint64_t)1000000000)
#define EPOCHS_MAX 8
#define TICK 50 /* samples of each stream in a made-up second */
/* Microseconds, as measured: the first use, one by the seek index, of a kept picture, and to keep
 * one. */
#define FIRST 920
#define PLAIN 715
#define KEPT 105
#define FILL 600

enum worker { BUSY, IDLE };

struct result {
	double hits; /* of all uses, once it is warm */
	double cost; /* microseconds a use */
	uint64_t replaced;
	uint64_t epoch_cost[EPOCHS_MAX]; /* microseconds */
};

struct run {
	struct picture_cache cache;
	struct picture_set *set;
	unsigned streams;
	enum worker worker;
	uint64_t now_ns, uses, hits, cost;
	uint64_t epoch_cost[EPOCHS_MAX]; /* of all streams */
	bool seen[SAMPLES];
};

static struct picture_key key_of(uint64_t sample)
{
	return (struct picture_key){.sample = sample, .stamp = {100, 1}, .scale = 1};
}

static void run_visit(struct run *run, unsigned stream, uint64_t ordinal)
{
	uint64_t epoch = ordinal / SAMPLES;
	struct picture_key key =
		key_of(order_at(stream, (uint32_t)epoch, SAMPLES, ordinal % SAMPLES));
	/* Any address that is the stream's own. */
	courses_show(picture_set_courses(run->set), (char *)run + stream, ordinal, run->now_ns);
	struct cached_picture *picture = picture_set_find(run->set, &key, true);
	run->uses++;
	run->cost += picture ? KEPT : run->seen[key.sample] ? PLAIN : FIRST;
	run->seen[key.sample] = true;
	run->hits += picture != NULL;
	if (picture) {
		picture_hit(picture, run->now_ns);
	} else {
		struct picture_use use =
			picture_set_use(run->set, key.sample, run->worker == IDLE, run->now_ns);
		if (use.keep)
			picture =
				picture_set_take(run->set, &key, 10, 10, PICTURE_OF_INDEXED, &use);
		if (picture)
			picture_set_keep(picture);
		if (picture && run->worker == BUSY)
			run->cost += FILL;
	}
	picture_unpin(picture);
}

static void run_tick(struct run *run)
{
	struct course_order orders[COURSES_MAX];
	for (unsigned i = 0; i < run->streams; i++)
		orders[i] = (struct course_order){(char *)run + i, true, i, 0, SAMPLES};
	courses_set(picture_set_courses(run->set), orders, run->streams, run->now_ns);
}

/* The second stream is a part of an epoch ahead of the first, and so on. */
static struct result run_all(unsigned streams, double part, enum worker worker, unsigned epochs)
{
	struct run run = {.streams = streams, .worker = worker, .now_ns = SECOND};
	picture_cache_init(&run.cache, (uint64_t)(part * SAMPLES) * ROOM);
	assert_int_equal(picture_set_new(&run.set, &run.cache, 0, SAMPLES), 0);
	for (uint64_t at = 0; at < (uint64_t)epochs * SAMPLES; at++) {
		if (at % TICK == 0)
			run_tick(&run);
		if (at == 3 * SAMPLES) /* it is warm */
			run.uses = run.hits = run.cost = 0;
		uint64_t before = run.cost;
		for (unsigned i = 0; i < streams; i++)
			run_visit(&run, i, at + i * SAMPLES / streams);
		run.epoch_cost[at / SAMPLES] += run.cost - before;
		run.now_ns += SECOND / TICK;
		assert_true(run.cache.bytes <= run.cache.limit);
	}
	struct result result = {(double)run.hits / (double)run.uses,
				(double)run.cost / (double)run.uses,
				run.cache.replaced,
				{0}};
	memcpy(result.epoch_cost, run.epoch_cost, sizeof(run.epoch_cost));
	picture_set_close(run.set);
	picture_cache_trim(&run.cache);
	assert_int_equal(run.cache.owners.count, 0);
	picture_cache_deinit(&run.cache);
	printf("%u streams, %.2f kept, %s: %.3f hits, %.0f us a use\n", streams, part,
	       worker == IDLE ? "idle" : "busy", result.hits, result.cost);
	return result;
}

/* With idle time, what is needed sooner replaces what is needed later. */
static void test_idle_workers(void **state)
{
	(void)state;
	assert_true(run_all(2, 0.25, IDLE, 8).hits >= 0.40);
	assert_true(run_all(2, 0.10, IDLE, 8).hits >= 0.20);
	assert_true(run_all(2, 0.50, IDLE, 8).hits >= 0.60);
	assert_true(run_all(4, 0.25, IDLE, 8).hits >= 0.45);
}

/* Without, it costs no more than to evict nothing; and less where many streams need a sample soon.
 */
static void test_busy_workers(void **state)
{
	static const double parts[] = {0.10, 0.25, 0.50};
	(void)state;
	for (unsigned streams = 1; streams <= 4; streams *= 2)
		for (unsigned i = 0; i < 3; i++) {
			double part = parts[i], never = PLAIN - part * (PLAIN - KEPT);
			assert_true(run_all(streams, part, BUSY, 8).cost <=
				    (streams < 4 ? 1.005 : 0.97) * never);
		}
}

/* No epoch costs more than the one before it, four together no more than if nothing were kept at a
 * first use, and the fifth is as all later ones. */
static void test_epochs(void **state)
{
	static const double parts[] = {0.25, 0.50, 1};
	(void)state;
	for (unsigned streams = 1; streams <= 2; streams++)
		for (unsigned i = 0; i < 3; i++) {
			const struct result result = run_all(streams, parts[i], BUSY, EPOCHS_MAX);
			const uint64_t *cost = result.epoch_cost;
			double part = parts[i], later = PLAIN - part * (PLAIN - KEPT);
			double four = FIRST + PLAIN + part * FILL + 2 * later;
			for (unsigned epoch = 1; epoch < EPOCHS_MAX; epoch++)
				assert_true((double)cost[epoch] <= 1.03 * (double)cost[epoch - 1]);
			if (streams == 1)
				assert_true((double)(cost[0] + cost[1] + cost[2] + cost[3]) <=
					    four * SAMPLES);
			assert_true((double)cost[4] <= 1.03 * (double)cost[EPOCHS_MAX - 1]);
		}
}

/* Of one stream nothing is gained, so nothing is done. */
static void test_one_stream(void **state)
{
	(void)state;
	struct result result = run_all(1, 0.25, IDLE, 6);
	assert_true(result.hits > 0.24 && result.hits < 0.26);
	assert_int_equal(result.replaced, 0);
}

/* What saves more for its memory comes first, whoever works. */
static void test_worth(void **state)
{
	(void)state;
	struct picture_cache cache;
	struct picture_set *set;
	const struct picture_use busy = {.keep = true};
	picture_cache_init(&cache, 32 * ROOM);
	assert_int_equal(picture_set_new(&set, &cache, 0, SAMPLES), 0);
	for (uint64_t sample = 0; sample < 96; sample++) {
		struct picture_key key = key_of(sample);
		enum picture_worth worth = (enum picture_worth)(sample / 32);
		key.file = worth == PICTURE_FILE;
		assert_true(picture_set_has_room(set, 2000, worth, &busy));
		struct cached_picture *picture =
			worth == PICTURE_FILE ? picture_set_take_file(set, &key, 2000, &busy)
					      : picture_set_take(set, &key, 10, 10, worth, &busy);
		assert_non_null(picture);
		picture_set_keep(picture);
		picture_unpin(picture);
		if (worth == PICTURE_OF_INDEXED)
			continue;
		key = key_of(sample + 1000);
		assert_false(picture_set_has_room(set, 2000, PICTURE_OF_INDEXED, &busy));
		assert_null(picture_set_take(set, &key, 10, 10, PICTURE_OF_INDEXED, &busy));
	}
	assert_int_equal(cache.files, 32);
	assert_int_equal(cache.pictures, 0);
	assert_int_equal(cache.replaced, 64);
	picture_set_close(set);
	picture_cache_deinit(&cache);
}

/* The heap against a scan, in random changes. */
static void test_the_least_first(void **state)
{
	enum { COUNT = 500, STEPS = 20000 };
	static struct victim victim[COUNT];
	struct victims victims = VICTIMS_NULL;
	(void)state;
	for (unsigned i = 0; i < COUNT; i++)
		victim[i].at = VICTIM_NOWHERE;
	for (uint64_t step = 0; step < STEPS; step++) {
		struct victim *one = &victim[order_at(1, 0, STEPS, step) % COUNT];
		uint64_t number = order_at(2, 0, STEPS, step);
		if (one->at == VICTIM_NOWHERE) {
			*one = (struct victim){number % 3, number, VICTIM_NOWHERE};
			assert_int_equal(victims_add(&victims, one), 0);
		} else if (number % 4 == 0) {
			victims_remove(&victims, one);
			victims_remove(&victims, one);
		} else {
			victims_move(&victims, one, number);
		}
		const struct victim *first = victims_first(&victims);
		for (unsigned i = 0; i < COUNT; i++)
			if (victim[i].at != VICTIM_NOWHERE)
				assert_true(first->worth < victim[i].worth ||
					    (first->worth == victim[i].worth &&
					     first->next_ns >= victim[i].next_ns));
	}
	victims_deinit(&victims);
}

/* When samples come, of orders that are shuffled and not, at rates of their own. */
static void test_forecasts(void **state)
{
	const struct course_order orders[] = {{"a", false, 0, 0, 100}, {"b", true, 7, 50, 100}};
	struct courses courses;
	(void)state;
	courses_init(&courses);
	courses_set(&courses, orders, 2, SECOND);
	struct forecast forecast = forecast_make(&courses, 60, SECOND);
	assert_true(forecast_first(&forecast) == FORECAST_NEVER); /* no rate is known */
	courses_show(&courses, "a", 4, SECOND);
	courses_set(&courses, orders, 2, 2 * SECOND);
	courses_show(&courses, "a", 14, 3 * SECOND);
	courses_show(&courses, "a", 13, 3 * SECOND); /* finished later */
	courses_show(&courses, "b", 199, 3 * SECOND);
	courses_set(&courses, orders, 2, 3 * SECOND);
	courses_show(&courses, "b", 249, 4 * SECOND);
	courses_set(&courses, orders, 2, 4 * SECOND);
	assert_true(courses.course[0].rate == 5); /* it stood still in the last second */
	assert_true(courses.course[1].rate == 50);
	forecast = forecast_make(&courses, 60, 4 * SECOND);
	uint64_t place = order_find(7, 2, 100, 10), from = 50;
	if (place < from)
		place = 100 + order_find(7, 3, 100, 10);
	double wait = (double)(place - from) / courses.course[1].rate;
	assert_true(forecast.at_ns[1] / 1e9 > 3.9 + wait && forecast.at_ns[1] / 1e9 < 4.1 + wait);
	assert_true(forecast_before(&forecast, FORECAST_NEVER) == 2);
	assert_true(forecast.at_ns[0] > 11 * SECOND && forecast.at_ns[0] < 13 * SECOND);
	forecast = forecast_make(&courses, 20, 4 * SECOND); /* none of b's */
	assert_true(forecast.at_ns[1] == FORECAST_NEVER);
	assert_int_equal(forecast_before(&forecast, FORECAST_NEVER), 1);
	courses_deinit(&courses);
}

/* What comes soon, or came just now. */
static void test_near(void **state)
{
	static const uint64_t first[] = {0, 3000, 6000, 9000, 12000};
	struct course_order order = {.owner = "a", .first = 10, .count = 1000};
	struct courses courses;
	(void)state;
	courses_init(&courses);
	assert_false(courses_near(&courses, 20));
	courses_add(&courses, &order);
	assert_true(courses_near(&courses, 10) && courses_near(&courses, 10 + COURSE_NEAR - 1));
	assert_false(courses_near(&courses, 9) || courses_near(&courses, 10 + COURSE_NEAR));
	courses_show(&courses, "a", 1499, SECOND); /* of the second epoch */
	assert_true(courses_near(&courses, 510 - COURSE_NEAR) && courses_near(&courses, 510));
	assert_false(courses_near(&courses, 509 - COURSE_NEAR) || courses_near(&courses, 900));
	order.count = 12000;
	assert_int_equal(shard_order_new(&order.shards, first, 4, 500), 0);
	courses_add(&courses, &order); /* another one at the same address */
	assert_int_equal(courses.count, 1);
	unsigned near = 0;
	for (uint64_t place = 0; place < 500; place++)
		near += courses_near(&courses,
				     order.first + shard_order_at(order.shards, 0, 0, place));
	assert_int_equal(near, 500); /* the window */
	for (uint64_t place = 2000; place < 2500; place++)
		near -= courses_near(&courses,
				     order.first + shard_order_at(order.shards, 0, 0, place));
	assert_int_equal(near, 500);
	shard_order_free(order.shards);
	courses_deinit(&courses);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle_workers), cmocka_unit_test(test_busy_workers),
		cmocka_unit_test(test_epochs),	     cmocka_unit_test(test_one_stream),
		cmocka_unit_test(test_worth),	     cmocka_unit_test(test_the_least_first),
		cmocka_unit_test(test_forecasts),    cmocka_unit_test(test_near),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
