// SPDX-License-Identifier: MIT
/*
 * What is found on the disk, at a budget that is a part of the data: one stream finds that part,
 * since every use is an epoch from the next; two streams of orders of their own find half at a
 * quarter (the best is 0.49; to evict nothing gives 0.25, the least recently used 0.14), a third
 * at a tenth. Time is made up, the files are real.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/shard_order.h"
#include "stage/stage.h"
#include "tests/unit/test.h"

#define SAMPLES 1000
#define SHARDS 40
#define BLOCK 4096 /* that each item takes */
#define SECOND ((uint64_t)1000000000)
#define TICK 50 /* samples of each stream in a made-up second */
#define WARM 2	/* epochs that are not counted */
#define EPOCHS 6

struct run {
	struct stage *stage;
	struct stage_set *set;
	struct digest origin;
	uint64_t limit, now_ns, visits, hits;
	unsigned streams;
	struct shard_order *shards; /* NULL: all samples are shuffled */
};

static void run_visit(struct run *run, unsigned stream, uint64_t ordinal)
{
	uint64_t epoch = ordinal / SAMPLES;
	uint64_t at = ordinal % SAMPLES;
	uint64_t sample = run->shards ? shard_order_at(run->shards, stream, (uint32_t)epoch, at)
				      : order_at(stream, (uint32_t)epoch, SAMPLES, at);
	struct stage_item item = {.origin = run->origin};
	struct stage_use use = {run->set, sample};
	struct buffer bytes = BUFFER_NULL;
	assert_int_equal(stage_name(run->stage, "object", sample, 8, &item.object), 0);
	/* Any address that is the stream's own. */
	courses_show(stage_set_courses(run->set), (char *)run + stream, ordinal, run->now_ns);
	bool found = stage_find(&use, &item, UINT64_MAX, &bytes, run->now_ns);
	run->visits++;
	run->hits += found;
	assert_int_equal(buffer_reserve(&bytes, sizeof(sample)), 0);
	if (found) {
		assert_memory_equal(bytes.data, &sample, sizeof(sample));
	} else {
		memcpy(bytes.data, &sample, sizeof(sample));
		bytes.size = sizeof(sample);
		stage_keep(&use, &item, &bytes, run->now_ns);
	}
	buffer_deinit(&bytes);
}

static void run_tick(struct run *run)
{
	struct course_order orders[COURSES_MAX];
	for (unsigned i = 0; i < run->streams; i++)
		orders[i] =
			(struct course_order){(char *)run + i, true, i, 0, SAMPLES, run->shards};
	courses_set(stage_set_courses(run->set), orders, run->streams, run->now_ns);
	assert_true(stage_totals(run->stage).bytes <= run->limit);
}

/* The share that is found; the second stream is a part of an epoch ahead of the first. */
static double run_all(unsigned streams, double part, bool by_shards)
{
	char folder[] = "/tmp/stoker-stage-XXXXXX", command[64];
	struct run run = {
		.streams = streams, .now_ns = SECOND, .limit = (uint64_t)(part * SAMPLES) * BLOCK};
	const struct stage_limits limits = {run.limit, 0};
	struct fault fault;
	uint64_t first[SHARDS + 1];
	for (uint32_t i = 0; i <= SHARDS; i++)
		first[i] = i * SAMPLES / SHARDS;
	if (by_shards)
		assert_int_equal(shard_order_new(&run.shards, first, SHARDS, 60), 0);
	assert_non_null(mkdtemp(folder));
	assert_int_equal(
		stage_new(&run.stage, open(folder, O_RDONLY | O_DIRECTORY), &limits, &fault), 0);
	assert_int_equal(stage_set_new(&run.set, run.stage, 0), 0);
	assert_int_equal(stage_name(run.stage, "folder", 0, 0, &run.origin), 0);
	for (uint64_t at = 0; at < (uint64_t)EPOCHS * SAMPLES; at++) {
		if (at % TICK == 0)
			run_tick(&run);
		if (at == WARM * SAMPLES)
			run.visits = run.hits = 0;
		for (unsigned i = 0; i < streams; i++)
			run_visit(&run, i, at + i * SAMPLES / streams);
		run.now_ns += SECOND / TICK;
	}
	stage_set_close(run.set);
	stage_free(run.stage);
	shard_order_free(run.shards);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
	double found = (double)run.hits / (double)run.visits;
	printf("%u streams, %.2f of the data, %s: %.3f found\n", streams, part,
	       by_shards ? "shards" : "global", found);
	return found;
}

static void test_one_stream(void **state)
{
	(void)state;
	static const double parts[] = {0.10, 0.25, 0.50};
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		assert_true(run_all(1, parts[i], false) >= parts[i] - 0.01);
}

static void test_two_streams(void **state)
{
	(void)state;
	assert_true(run_all(2, 0.10, false) >= 0.26);
	assert_true(run_all(2, 0.25, false) >= 0.42);
}

static void test_by_shards(void **state)
{
	(void)state;
	assert_true(run_all(1, 0.25, true) >= 0.24);
	assert_true(run_all(2, 0.25, true) >= 0.42);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_stream),
		cmocka_unit_test(test_two_streams),
		cmocka_unit_test(test_by_shards),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
