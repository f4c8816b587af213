// SPDX-License-Identifier: MIT
/*
 * What a crop costs from the decoder's pixels to the slot, with each instruction set that this
 * machine has, and how much faster that is than plain C:
 *	resample_bench [ROUNDS [PART]]
 * of all that is listed below, or of what has PART in its name.
 * Times are CPU time of one thread: draw, plan, resize, normalise, and writing to slots of a ring
 * that no cache holds. Each round measures all of them in turn, a few crops at a time, and the
 * answers are medians, so that whatever else the machine does falls on all alike.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "tests/unit/values.h"
#include "transform/pipeline.h"

#define ROUNDS_MAX 10000
#define TURN 8	  /* crops at a time */
#define SLOTS 256 /* of the ring */
#define SLACK 64  /* readable bytes behind the pixels */

#define NORMALIZE                                                                                  \
	NAMED("Normalize", KEY("mean", LIST(REAL(0.485), REAL(0.456), REAL(0.406))),               \
	      KEY("std", LIST(REAL(0.229), REAL(0.224), REAL(0.225))))
#define WHOLE KEY("size", LIST(UINT(224), UINT(224)))
#define RESIZED LIST(NAMED("Resize", WHOLE), NORMALIZE)
#define CUBIC LIST(NAMED("Resize", WHOLE, KEY("interpolation", TEXT("bicubic"))), NORMALIZE)
#define BYTES LIST(NAMED("Resize", WHOLE))
#define TRAIN                                                                                      \
	LIST(NAMED("RandomResizedCrop", KEY("size", UINT(224))), BARE("RandomHorizontalFlip"),     \
	     NORMALIZE)

static const struct task {
	const char *name;
	struct value transforms;
	const char *dtype, *layout;
	int32_t width, height;
} tasks[] = {
	{"400x300 -> 224", RESIZED, "float32", "NCHW", 400, 300},
	{"400x300 -> 224, pixel by pixel", RESIZED, "float32", "NHWC", 400, 300},
	{"400x300 -> 224, bfloat16", RESIZED, "bfloat16", "NCHW", 400, 300},
	{"400x300 -> 224, float16", RESIZED, "float16", "NCHW", 400, 300},
	{"400x300 -> 224, uint8", BYTES, "uint8", "NHWC", 400, 300},
	{"400x300 -> 224, bicubic", CUBIC, "float32", "NCHW", 400, 300},
	{"300x400 -> 224, rows first", RESIZED, "float32", "NCHW", 300, 400},
	{"300x400 -> 224, bicubic, rows first", CUBIC, "float32", "NCHW", 300, 400},
	{"900x300 -> 224", RESIZED, "float32", "NCHW", 900, 300},
	{"300x900 -> 224, rows first", RESIZED, "float32", "NCHW", 300, 900},
	{"160x120 -> 224", RESIZED, "float32", "NCHW", 160, 120},
	{"1000x750 -> 224", RESIZED, "float32", "NCHW", 1000, 750},
	{"3000x2000 -> 224", RESIZED, "float32", "NCHW", 3000, 2000},
	{"500x375, RandomResizedCrop(224), flip", TRAIN, "float32", "NCHW", 500, 375},
};

struct side {
	enum cpu cpu;
	struct pipeline_scratch *scratch;
	uint64_t slot;
	double times[ROUNDS_MAX], ratios[ROUNDS_MAX];
};

static struct side sides[CPU_COUNT];
static unsigned rounds = 100;
static uint8_t *ring;

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

static double quantile(double *numbers, double part)
{
	qsort(numbers, rounds, sizeof(*numbers), compare);
	return numbers[(size_t)(part * (rounds - 1))];
}

static struct pipeline *pipeline_of(const struct task *task)
{
	struct pipeline *pipeline;
	struct fault fault = {""};
	struct text dtype = {task->dtype, strlen(task->dtype)};
	struct text layout = {task->layout, strlen(task->layout)};
	if (pipeline_new(&pipeline, &task->transforms, dtype, layout, &fault) != 0)
		die(task->name, fault.text);
	if (pipeline_allow(pipeline, false, strstr(task->name, "rows first") != NULL) != 0)
		die(task->name, "no memory");
	return pipeline;
}

/* As a decoder gives them: nothing but what is needed. */
static void make(const struct task *task, const struct pipeline *pipeline, struct side *side,
		 const uint8_t *pixels, uint64_t position)
{
	const struct draw_key key = {.seed = 1, .position = position};
	struct fault fault = {""};
	struct rect need;
	size_t slot = side->slot++ % SLOTS * pipeline_output(pipeline).bytes;
	if (pipeline_draw(pipeline, &key, task->width, task->height, side->scratch, &need, &fault))
		die(task->name, fault.text);
	const struct image image = {pixels, 3 * (size_t)need.width, task->width, task->height,
				    need};
	if (pipeline_apply(pipeline, &image, NULL, side->scratch, ring + slot, NULL) != 0)
		die(task->name, "no memory");
}

static void measure(const struct task *task, const struct pipeline *pipeline, const uint8_t *pixels,
		    unsigned round, enum cpu best)
{
	for (enum cpu i = CPU_PLAIN; i <= best; i++) {
		struct side *side = &sides[(i + round) % (best + 1)];
		uint64_t start = clock_thread_ns();
		for (unsigned n = 0; n < TURN; n++)
			make(task, pipeline, side, pixels, (uint64_t)round * TURN + n);
		side->times[round] = (double)(clock_thread_ns() - start) / 1e3 / TURN;
	}
	for (enum cpu i = CPU_PLAIN; i <= best; i++)
		sides[i].ratios[round] = sides[CPU_PLAIN].times[round] / sides[i].times[round];
}

static void run(const struct task *task, enum cpu best)
{
	size_t size = 3 * (size_t)task->width * (size_t)task->height;
	struct pipeline *pipeline = pipeline_of(task);
	uint8_t *pixels = malloc(size + SLACK);
	if (!pixels)
		die(task->name, "no memory");
	for (size_t i = 0; i < size; i++)
		pixels[i] = (uint8_t)(i * 2654435761u >> 13);
	for (unsigned round = 0; round < rounds; round++)
		measure(task, pipeline, pixels, round, best);
	printf("%-38s", task->name);
	for (enum cpu i = CPU_PLAIN; i <= best; i++) {
		struct side *side = &sides[i];
		printf("  %8.1f %8.1f %5.2fx", quantile(side->times, 0.5),
		       quantile(side->times, 0.05), quantile(side->ratios, 0.5));
	}
	printf("\n");
	fflush(stdout);
	free(pixels);
	pipeline_free(pipeline);
}

/* What a worker would choose under this name. */
static void side_init(struct side *side, enum cpu cpu)
{
	struct pipeline *pipeline = pipeline_of(&tasks[0]);
	uint8_t *pixels = calloc(1, 3 * 400 * 300 + SLACK);
	side->cpu = cpu;
	if (!pixels || pipeline_scratch_new(&side->scratch) != 0 ||
	    setenv("STOKER_CPU", cpu_name(cpu), 1) != 0)
		die(cpu_name(cpu), "no memory");
	make(&tasks[0], pipeline, side, pixels, 0);
	free(pixels);
	pipeline_free(pipeline);
}

int main(int argc, char **argv)
{
	enum cpu best = cpu_best();
	size_t size = (size_t)SLOTS * 224 * 224 * 3 * sizeof(float);
	if (argc > 1)
		rounds = (unsigned)strtoul(argv[1], NULL, 10);
	ring = aligned_alloc(4096, size);
	if (rounds < 1 || rounds > ROUNDS_MAX || !ring)
		die("resample_bench", "ROUNDS is 1 to 10000");
	memset(ring, 1, size);
	printf("us a crop: median, 5 %% quantile, times as fast as plain C\n%-38s", "");
	for (enum cpu i = CPU_PLAIN; i <= best; i++) {
		side_init(&sides[i], i);
		printf("  %24s", cpu_name(i));
	}
	printf("\n");
	for (size_t i = 0; i < sizeof(tasks) / sizeof(*tasks); i++) {
		if (argc <= 2 || strstr(tasks[i].name, argv[2]))
			run(&tasks[i], best);
	}
	for (enum cpu i = CPU_PLAIN; i <= best; i++)
		pipeline_scratch_free(sides[i].scratch);
	free(ring);
	return 0;
}
