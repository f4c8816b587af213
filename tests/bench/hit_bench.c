// SPDX-License-Identifier: MIT
/*
 * What a sample costs a worker whose picture is kept in memory as decoded, by part:
 *	hit_bench [PICTURES [ROUNDS]]
 * Pictures of 500 x 375 in a picture cache, 540 KB each, shown in random order, so that no
 * processor cache has them; made to float32 and bytes of RandomResizedCrop(224) with a flip, and
 * of Resize(256) with CenterCrop(224). Times are CPU time of one thread in us, medians of rounds;
 * a round of each task in turn. `find`: the lock, the look, the pin and the forecast; `plan`: the
 * draw and the tables of the axes; `make`: resize, numbers and slot.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cache/picture_cache.h"
#include "tests/unit/values.h"
#include "transform/pipeline.h"

#define WIDTH 500
#define HEIGHT 375
#define ROUNDS_MAX 1000
#define TURN 256  /* samples of a round */
#define SLOTS 512 /* of the ring */

#define NORMALIZE                                                                                  \
	NAMED("Normalize", KEY("mean", LIST(REAL(0.485), REAL(0.456), REAL(0.406))),               \
	      KEY("std", LIST(REAL(0.229), REAL(0.224), REAL(0.225))))
#define SIZED(name_, size_) NAMED(name_, KEY("size", UINT(size_)))
#define FLIP BARE("RandomHorizontalFlip")

static const struct task {
	const char *name;
	struct value transforms;
	const char *dtype;
} tasks[] = {
	{"train, float32", LIST(SIZED("RandomResizedCrop", 224), FLIP, NORMALIZE), "float32"},
	{"train, uint8", LIST(SIZED("RandomResizedCrop", 224), FLIP), "uint8"},
	{"val, float32", LIST(SIZED("Resize", 256), SIZED("CenterCrop", 224), NORMALIZE),
	 "float32"},
};
#define TASKS (sizeof(tasks) / sizeof(*tasks))

enum { FIND, PLAN, MAKE, PARTS };

struct side {
	struct pipeline *pipeline;
	struct pipeline_scratch *scratch;
	double us[PARTS][ROUNDS_MAX];
};

static struct picture_cache cache;
static struct picture_set *set;
static struct side sides[TASKS];
static uint8_t *ring;
static uint64_t pictures = 1500, visits;
static unsigned rounds = 40;

static _Noreturn void die(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	exit(1);
}

static int compare(const void *a, const void *b)
{
	double first = *(const double *)a, second = *(const double *)b;
	return (first > second) - (first < second);
}

static double median(double *numbers)
{
	qsort(numbers, rounds, sizeof(*numbers), compare);
	return numbers[rounds / 2];
}

static struct picture_key key_of(uint64_t sample)
{
	return (struct picture_key){.sample = sample, .stamp = {1, sample}, .scale = 1};
}

static double fill(void)
{
	uint64_t begun = clock_thread_ns();
	picture_cache_init(&cache, (uint64_t)1 << 40);
	if (picture_set_new(&set, &cache, 0, pictures) < 0)
		die("hit_bench", "no memory");
	for (uint64_t i = 0; i < pictures; i++) {
		const struct picture_key key = key_of(i);
		picture_set_use(set, i, false, 0);
		struct picture_use visit = picture_set_use(set, i, false, 0);
		struct cached_picture *picture =
			picture_set_take(set, &key, WIDTH, HEIGHT, PICTURE_OF_INDEXED, &visit);
		if (!picture)
			die("hit_bench", "no memory for so many pictures");
		for (uint32_t at = 0; at < 3 * WIDTH * HEIGHT; at += 4) {
			uint32_t word = (at + (uint32_t)i) * 2654435761u;
			memcpy(picture->memory.data + at, &word, 4);
		}
		picture->image = (struct image){picture->memory.data,
						(size_t)3 * WIDTH,
						WIDTH,
						HEIGHT,
						{0, 0, WIDTH, HEIGHT}};
		picture_set_keep(picture);
		picture_unpin(picture);
	}
	return (double)(clock_thread_ns() - begun) / 1e3 / (double)pictures;
}

static void visit(struct side *side, unsigned round)
{
	uint64_t number = visits++;
	const struct picture_key key = key_of(number * 2654435761u % 4294967291u % pictures);
	const struct draw_key draw = {.seed = 1, .position = number};
	struct pipeline *pipeline = side->pipeline;
	uint8_t *slot = ring + number % SLOTS * (size_t)(224 * 224 * 3 * 4);
	struct fault fault = {""};
	struct rect need;
	uint64_t at[4];
	at[0] = clock_thread_ns();
	struct cached_picture *picture = picture_set_find(set, &key, false);
	picture_hit(picture, number);
	at[1] = clock_thread_ns();
	if (pipeline_draw(pipeline, &draw, WIDTH, HEIGHT, side->scratch, &need, &fault))
		die("draw", fault.text);
	at[2] = clock_thread_ns();
	if (pipeline_apply(pipeline, &picture->image, NULL, side->scratch, slot, NULL) != 0)
		die("apply", "no memory");
	at[3] = clock_thread_ns();
	picture_unpin(picture);
	for (int i = 0; i < PARTS; i++)
		side->us[i][round] += (double)(at[i + 1] - at[i]) / 1e3 / TURN;
}

static void side_init(struct side *side, const struct task *task)
{
	struct text dtype = {task->dtype, strlen(task->dtype)}, layout = {"NCHW", 4};
	struct fault fault = {""};
	if (pipeline_new(&side->pipeline, &task->transforms, dtype, layout, &fault) != 0)
		die(task->name, fault.text);
	if (pipeline_scratch_new(&side->scratch) < 0)
		die(task->name, "no memory");
}

int main(int argc, char **argv)
{
	size_t size = (size_t)SLOTS * 224 * 224 * 3 * 4;
	if (argc > 1)
		pictures = strtoull(argv[1], NULL, 10);
	if (argc > 2)
		rounds = (unsigned)strtoul(argv[2], NULL, 10);
	ring = aligned_alloc(4096, size);
	if (rounds < 1 || rounds > ROUNDS_MAX || pictures < 1 || !ring)
		die("hit_bench", "PICTURES is above 0, ROUNDS is 1 to 1000");
	memset(ring, 1, size);
	printf("to keep a picture, without its pixels' making: %.1f us\n", fill());
	for (size_t i = 0; i < TASKS; i++)
		side_init(&sides[i], &tasks[i]);
	for (unsigned round = 0; round < rounds; round++)
		for (size_t i = 0; i < TASKS; i++)
			for (unsigned n = 0; n < TURN; n++)
				visit(&sides[i], round);
	printf("%-16s %8s %8s %8s %8s\n", "us", "find", "plan", "make", "all");
	for (size_t i = 0; i < TASKS; i++) {
		double part[PARTS];
		for (int p = 0; p < PARTS; p++)
			part[p] = median(sides[i].us[p]);
		printf("%-16s %8.2f %8.2f %8.2f %8.2f\n", tasks[i].name, part[FIND], part[PLAN],
		       part[MAKE], part[FIND] + part[PLAN] + part[MAKE]);
		pipeline_scratch_free(sides[i].scratch);
		pipeline_free(sides[i].pipeline);
	}
	picture_set_close(set);
	picture_cache_trim(&cache);
	picture_cache_deinit(&cache);
	free(ring);
	return 0;
}
