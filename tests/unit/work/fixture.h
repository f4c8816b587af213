/* SPDX-License-Identifier: MIT */
/*
 * A small dataset with everything that a worker needs to make its samples: a kit, a picture cache,
 * a picture store and seek indexes. No pool and no loop: the test calls fetch and make itself.
 *
 * The pictures are PPM files whose pixels are a formula, so that a test knows each byte without a
 * decoder; or JPEGs, which libjpeg alone decodes for comparison.
 */
#ifndef STOKER_TEST_WORK_FIXTURE_H
#define STOKER_TEST_WORK_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/unit/list.h"
#include "tests/unit/pictures.h"
#include "work/sample.h"

#define WIDTH 40
#define HEIGHT 30
#define SAMPLES 12
#define OUT 16 /* width and height of what the usual pipeline makes */
#define OUT_BYTES ((size_t)3 * OUT * OUT)

struct work {
	char path[64]; /* of a folder for this test alone */
	struct dataset *dataset;
	struct picture_cache cache;
	struct picture_set *pictures;
	struct picture_store *disk;
	struct seek_index_budget account;
	struct seek_index_set *indexes;
	struct sample_kit kit;
	struct job_recipe recipe; /* to write the usual pipeline's samples; keeps nothing */
};

/* Samples of the formula in a folder dataset; memory and disk of 1 MiB each. */
int work_setup(void **state);
int work_teardown(void **state);
#define WORK_CASE(name) cmocka_unit_test_setup_teardown(name, work_setup, work_teardown)

/* The byte of channel `c` at (x, y) of a sample. */
uint8_t formula(uint64_t sample, int32_t x, int32_t y, int c);
/* Check that an array has the middle of the sample: what CenterCrop(OUT) makes of it. */
void assert_middle(const uint8_t *array, uint64_t sample);

/* Write a file of the folder; the dataset is opened with it by work_open(). */
void work_put(const struct work *work, const char *name, const void *data, size_t size);
/* Open another dataset in place of the first, with nothing kept of it: the folder, or the file
 * `name` in it. */
void work_open(struct work *work, const char *name);
/* Replace the folder's files by JPEGs of this form, and open it. */
void work_use_jpegs(struct work *work, int width, int height, enum jpeg_way way);
/* Replace the folder's files by an array of the same pixels, and open it. */
void work_use_array(struct work *work);

/* A pipeline, NHWC, which work_teardown() frees: of uint8, or of float32. */
struct pipeline *work_pipeline(const struct value *list);
struct pipeline *work_pipeline_float(const struct value *list);
/* The recipe for `views` views of a pipeline. */
struct job_recipe work_recipe(const struct work *work, const struct pipeline *pipeline,
			      uint32_t views);
/* A recipe that keeps pictures in memory and, if so, on the disk. */
struct job_recipe work_keeping(const struct work *work, bool disk);

/* Keep nothing in memory from now on. */
void work_use_no_memory(struct work *work);

/* A job with memory of its own for each field. */
struct slot_memory {
	uint8_t image[1 << 16], label[1024], index[8], further[1 << 14];
};
struct job work_job(const struct job_recipe *recipe, uint64_t sample, struct slot_memory *slot);
/* Fetch and make a chain, as a fetch thread and a worker do. */
void work_run(struct work *work, struct job *job);
/* The same for one job of its own, which is freed. Its outcome. */
enum job_outcome work_make(struct work *work, const struct job_recipe *recipe, uint64_t sample,
			   struct slot_memory *slot);
void job_free(struct job *job);

/* Whether the next fetch takes the sample from memory, disk or file. */
enum source_kind work_source(struct work *work, const struct job_recipe *recipe, uint64_t sample);

/* CRC-32 of an array, to compare with a figure that another program found. */
uint32_t checksum(const uint8_t *array, size_t size);

#endif
