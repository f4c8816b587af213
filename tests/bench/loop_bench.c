// SPDX-License-Identifier: MIT
/*
 * A bare loop of the daemon's own kernels, for the section "loop" of the bench and for small.py:
 * each thread reads, decodes and transforms the next sample of the usual training stream into
 * memory of its own, and hands nothing to anybody. Of pictures in memory (.npy) it is the usual one
 * of small pictures.
 *	loop_bench DATASET [--threads N] [--seconds S]
 * All samples are made once before time is taken, so that their scans' indexes are there. Writes
 * {"images": ..., "seconds": ..., "images_per_second": ..., "cpu_seconds": ...} as one line.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/order.h"
#include "dataset/dataset.h"
#include "decode/jpeg/seek_index_set.h"
#include "tests/unit/values.h"
#include "work/sample.h"

#define THREADS_MAX 1024
#define SLOTS_BYTES ((size_t)64 << 20) /* of each thread: more than caches hold, as a ring is */
#define AUGMENT_SEED 9
#define ORDER_SEED 7

struct thread {
	pthread_t handle;
	struct sample_kit kit;
	struct job job;
	uint8_t *slots;
	uint64_t images, bad, cpu_ns;
};

static struct job_recipe recipe;
static size_t slot_bytes, slots;
static _Atomic uint64_t next_position;
static uint64_t last_position; /* 0: none, time ends it */
static _Atomic uint64_t end_ns;
static struct thread threads[THREADS_MAX];

static _Noreturn void die(const char *what, const char *why)
{
	fprintf(stderr, "loop_bench: %s: %s\n", what, why);
	exit(1);
}

/* What everybody trains with: RandomResizedCrop(224), flip, normalise; of small pictures:
 * RandomCrop(32, padding=4), flip. */
static const struct value large_list =
	LIST(NAMED("RandomResizedCrop", KEY("size", UINT(224))), BARE("RandomHorizontalFlip"),
	     NAMED("Normalize", KEY("mean", LIST(REAL(0.485), REAL(0.456), REAL(0.406))),
		   KEY("std", LIST(REAL(0.229), REAL(0.224), REAL(0.225)))));
static const struct value small_list =
	LIST(NAMED("RandomCrop", KEY("size", UINT(32)), KEY("padding", UINT(4))),
	     BARE("RandomHorizontalFlip"));

static struct pipeline *pipeline_make(bool small)
{
	const struct value *transforms = small ? &small_list : &large_list;
	struct pipeline *pipeline;
	struct fault fault;
	if (pipeline_new(&pipeline, transforms, (struct text){"", 0}, (struct text){"", 0}, &fault))
		die("the pipeline", fault.text);
	return pipeline;
}

static void make_one(struct thread *thread, uint64_t position)
{
	struct job *job = &thread->job;
	uint64_t epoch = position / recipe.count, at = position % recipe.count;
	uint8_t *slot = thread->slots + thread->images % slots * slot_bytes;
	int64_t index;
	uint8_t label[256];
	job->recipe = &recipe;
	job->key = (struct draw_key){AUGMENT_SEED, (uint32_t)epoch, at};
	job->sample = order_at(ORDER_SEED, (uint32_t)epoch, recipe.count, at);
	job->field[FIELD_IMAGE] = slot;
	job->field[FIELD_LABEL] = label;
	job->field[FIELD_INDEX] = &index;
	sample_fetch(job);
	sample_make(job, &thread->kit);
	thread->images++;
	thread->bad += job->outcome != JOB_DONE;
}

static void *thread_run(void *argument)
{
	struct thread *thread = argument;
	uint64_t start_ns = clock_thread_ns();
	while (clock_ns() < end_ns) {
		uint64_t position = atomic_fetch_add(&next_position, 1);
		if (last_position && position >= last_position)
			break;
		make_one(thread, position);
	}
	thread->cpu_ns = clock_thread_ns() - start_ns;
	return NULL;
}

/* Until `last` positions or `seconds` are over. Wall time, in seconds. */
static double run(unsigned count, uint64_t last, double seconds)
{
	uint64_t start_ns = clock_ns();
	last_position = last;
	atomic_store(&end_ns, seconds > 0 ? start_ns + (uint64_t)(seconds * 1e9) : UINT64_MAX);
	for (unsigned i = 0; i < count; i++) {
		threads[i].images = 0;
		if (pthread_create(&threads[i].handle, NULL, thread_run, &threads[i]))
			die("a thread", "cannot be started");
	}
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i].handle, NULL);
	return (double)(clock_ns() - start_ns) * 1e-9;
}

static struct dataset *open_dataset(char *path)
{
	struct dataset *dataset;
	struct dataset_progress progress = {0};
	struct dataset_spec spec = DATASET_SPEC_NULL;
	struct fault fault;
	spec.path = realpath(path, NULL);
	if (!spec.path)
		die(path, "no such folder");
	dataset_spec_trust(&spec);
	if (dataset_open(&dataset, &spec, &progress, &fault))
		die(path, fault.text);
	dataset_spec_deinit(&spec);
	if (dataset_label(dataset).bytes > 256)
		die(path, "labels of more than 256 bytes");
	return dataset;
}

static void prepare(char *path, struct seek_index_budget *account, unsigned count)
{
	struct dataset *dataset = open_dataset(path);
	const struct field_choice choice = {.some = true, .views = 1}; /* image, label, index */
	recipe = (struct job_recipe){
		.purpose = &purpose_write,
		.dataset = dataset,
		.pipeline = pipeline_make(dataset_has_pixels(dataset)),
		.limits = DECODE_LIMITS_DEFAULT,
		.max_bytes = (size_t)256 << 20,
		.count = dataset_count(dataset),
	};
	struct fault fault;
	if (fields_init(&recipe.fields, dataset, recipe.pipeline, &choice, &fault))
		die("the fields", fault.text);
	if (decoder_self_test(&fault) == 0 &&
	    seek_index_set_new(&recipe.seek_indexes, account, NULL, recipe.count) < 0)
		die("the index", "no memory");
	slot_bytes = pipeline_output(recipe.pipeline).bytes;
	slots = SLOTS_BYTES / slot_bytes;
	for (unsigned i = 0; i < count; i++) {
		threads[i].slots = aligned_alloc(4096, SLOTS_BYTES);
		if (!threads[i].slots || sample_kit_init(&threads[i].kit) < 0)
			die("a thread", "no memory");
		memset(threads[i].slots, 0, SLOTS_BYTES); /* touched, as a ring is */
	}
}

static void clean_up(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		free(threads[i].slots);
		source_deinit(&threads[i].job.own.source);
		sample_kit_deinit(&threads[i].kit);
	}
	seek_index_set_free(recipe.seek_indexes);
	pipeline_free((struct pipeline *)(uintptr_t)recipe.pipeline);
	dataset_free((struct dataset *)(uintptr_t)recipe.dataset);
}

int main(int argc, char **argv)
{
	struct seek_index_budget account = {.limit = (uint64_t)256 << 20};
	unsigned count = 1;
	double seconds = 5;
	for (int i = 2; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--threads") == 0)
			count = (unsigned)strtoul(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--seconds") == 0)
			seconds = strtod(argv[i + 1], NULL);
	}
	if (argc < 2 || argc % 2 || count < 1 || count > THREADS_MAX || !(seconds > 0))
		die("usage", "loop_bench DATASET [--threads N] [--seconds S]");
	prepare(argv[1], &account, count);
	run(count, recipe.count, 0);
	atomic_store(&next_position, recipe.count);
	double wall = run(count, 0, seconds);
	uint64_t images = 0, cpu_ns = 0, bad = 0;
	for (unsigned i = 0; i < count; i++) {
		images += threads[i].images;
		bad += threads[i].bad;
		cpu_ns += threads[i].cpu_ns;
	}
	printf("{\"images\": %llu, \"bad\": %llu, \"seconds\": %.3f, \"images_per_second\": %.1f, "
	       "\"cpu_seconds\": %.6f}\n",
	       (unsigned long long)images, (unsigned long long)bad, wall, (double)images / wall,
	       (double)cpu_ns * 1e-9);
	clean_up(count);
	return 0;
}
