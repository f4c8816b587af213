// SPDX-License-Identifier: MIT
/*
 * What a job is for: to write slots (with substitutes, mix partners, masks), to index, to measure,
 * to keep; and what becomes of jobs that nobody wants.
 */
#include "tests/unit/work/fixture.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

static const struct value mixed =
	LIST(NAMED("CenterCrop", KEY("size", UINT(OUT))), NAMED("MixUp", KEY("alpha", REAL(1.0))));

#define MIXED_BYTES (OUT_BYTES * sizeof(float))

static void spoil(struct work *work, const char *name)
{
	work_put(work, name, "P6 40 30 255\nabc", 16);
}

static void keep(struct work *work, const struct job_recipe *recipe)
{
	struct slot_memory slot;
	work->kit.idle = true;
	for (uint64_t sample = 0; sample < SAMPLES; sample++)
		(void)work_make(work, recipe, sample, &slot);
	work->kit.idle = false;
}

/* -- write -------------------------------------------------------------------------------- */

/* The next good sample stands in for a bad one; behind the last comes the first. */
static void test_substitutes(void **state)
{
	static const uint64_t used[SAMPLES] = {0, 1, 5, 5, 5, 5, 6, 7, 8, 9, 0, 0};
	struct work *work = *state;
	struct slot_memory slot;
	for (int kept = 0; kept < 2; kept++) {
		spoil(work, "02.ppm");
		spoil(work, "03.ppm");
		spoil(work, "04.ppm");
		spoil(work, "10.ppm");
		spoil(work, "11.ppm");
		work_open(work, NULL);
		struct job_recipe recipe = kept ? work_keeping(work, true) : work->recipe;
		recipe.substitutes = 8;
		keep(work, &recipe);
		for (uint64_t sample = 0; sample < SAMPLES; sample++) {
			struct job job = work_job(&recipe, sample, &slot);
			memset(&slot, 0, sizeof(slot));
			work_run(work, &job);
			assert_int_equal(job.used, used[sample]);
			assert_int_equal(job.substituted, used[sample] != sample);
			assert_int_equal(job.outcome, job.substituted ? JOB_CORRUPT : JOB_DONE);
			assert_middle(slot.image, used[sample]);
			int64_t index;
			memcpy(&index, slot.index, sizeof(index));
			assert_int_equal(index, used[sample]);
			job_free(&job);
		}
	}
}

/* So many neighbours are tried, no more; and only within the stream's samples. */
static void test_substitutes_are_few(void **state)
{
	struct work *work = *state;
	struct slot_memory slot;
	spoil(work, "02.ppm");
	spoil(work, "03.ppm");
	spoil(work, "04.ppm");
	work_open(work, NULL);
	work->recipe.substitutes = 2;
	assert_int_equal(work_make(work, &work->recipe, 2, &slot), JOB_CORRUPT);
	struct job job = work_job(&work->recipe, 2, &slot);
	work_run(work, &job);
	assert_false(job.substituted);
	job_free(&job);
	work->recipe.substitutes = 8;
	work->recipe.first = 2;
	work->recipe.count = 3; /* all of them are bad */
	job = work_job(&work->recipe, 4, &slot);
	work_run(work, &job);
	assert_false(job.substituted);
	assert_int_equal(job.outcome, JOB_CORRUPT);
	job_free(&job);
}

/* Each job of a chain has a substitute of its own, and pins nothing behind. */
static void test_a_chain_of_substitutes(void **state)
{
	struct work *work = *state;
	struct slot_memory *slots = calloc(3, sizeof(*slots));
	struct job jobs[3];
	assert_non_null(slots);
	spoil(work, "06.ppm");
	work_open(work, NULL);
	struct job_recipe recipe = work_keeping(work, false);
	recipe.substitutes = 4;
	keep(work, &recipe);
	for (int i = 2; i >= 0; i--) {
		jobs[i] = work_job(&recipe, 6, &slots[i]);
		jobs[i].sharer = i < 2 ? &jobs[i + 1] : NULL;
	}
	work_run(work, &jobs[0]);
	for (int i = 0; i < 3; i++) {
		assert_true(jobs[i].substituted && jobs[i].used == 7);
		assert_middle(slots[i].image, 7);
		assert_null(jobs[i].own.source.picture);
		job_free(&jobs[i]);
	}
	free(slots);
}

static struct job mixed_job(const struct job_recipe *recipe, uint64_t sample, uint64_t partner,
			    struct slot_memory *slot)
{
	struct job job = work_job(recipe, sample, slot);
	job.partner[0].entry = partner;
	job.partner[0].key = job.key;
	job.partner[0].key.position = partner;
	return job;
}

/* Check that an array has two samples with weights w and 1 - w, the same for each number. */
static void assert_mixed(const uint8_t *array, uint64_t a, uint64_t b)
{
	const int32_t left = (WIDTH - OUT) / 2, top = (HEIGHT - OUT) / 2;
	double weight = -1;
	for (int32_t y = 0; y < OUT; y++)
		for (int32_t x = 0; x < OUT; x++) {
			double p = formula(a, left + x, top + y, 0) / 255.0;
			double q = formula(b, left + x, top + y, 0) / 255.0;
			float got;
			memcpy(&got, array + (size_t)(y * OUT + x) * 3 * sizeof(got), sizeof(got));
			if (weight < 0)
				weight = (got - q) / (p - q); /* the samples differ by 57 */
			assert_true(fabs(weight * p + (1 - weight) * q - got) < 1e-5);
		}
	assert_true(weight > 0.001 && weight < 0.999);
}

/* A mixed sample is the same from each source. */
static void test_mix(void **state)
{
	struct work *work = *state;
	struct slot_memory first, slot;
	for (int way = 0; way < 3; way++) {
		if (way == 2)
			work_use_no_memory(work);
		struct job_recipe recipe = work_recipe(work, work_pipeline_float(&mixed), 1);
		if (way > 0)
			recipe.keeper = work_keeping(work, way == 2).keeper;
		keep(work, &recipe);
		struct job job = mixed_job(&recipe, 4, 5, &slot);
		work_run(work, &job);
		assert_int_equal(job.outcome, JOB_DONE);
		assert_int_equal(job.partner[0].own.sample, 5);
		if (way == 0)
			first = slot;
		assert_memory_equal(slot.image, first.image, MIXED_BYTES);
		job_free(&job);
	}
	assert_mixed(first.image, 4, 5);
}

/* All jobs of a chain mix with the partner that its first job has, kept or not. */
static void test_a_chain_that_mixes(void **state)
{
	struct work *work = *state;
	struct slot_memory *slots = calloc(3, sizeof(*slots));
	struct job jobs[3];
	assert_non_null(slots);
	for (int kept = 0; kept < 2; kept++) {
		struct job_recipe recipe = work_recipe(work, work_pipeline_float(&mixed), 1);
		const struct job_recipe plain = work->recipe;
		if (kept)
			recipe.keeper = work_keeping(work, true).keeper;
		keep(work, &recipe);
		jobs[0] = mixed_job(&recipe, 4, 5, &slots[0]);
		jobs[1] = work_job(&plain, 4, &slots[1]);
		jobs[2] = mixed_job(&recipe, 4, 5, &slots[2]);
		jobs[0].sharer = &jobs[1];
		jobs[1].sharer = &jobs[2];
		work_run(work, &jobs[0]);
		for (int i = 0; i < 3; i++)
			assert_int_equal(jobs[i].outcome, JOB_DONE);
		assert_middle(slots[1].image, 4);
		assert_memory_equal(slots[0].image, slots[2].image, MIXED_BYTES);
		assert_mixed(slots[0].image, 4, 5);
		assert_null(jobs[0].partner[0].own.source.picture);
		for (int i = 0; i < 3; i++)
			job_free(&jobs[i]);
	}
	free(slots);
}

static void test_a_bad_partner(void **state)
{
	struct work *work = *state;
	struct slot_memory slot;
	spoil(work, "05.ppm");
	work_open(work, NULL);
	struct job_recipe recipe = work_recipe(work, work_pipeline_float(&mixed), 1);
	struct job job = mixed_job(&recipe, 4, 5, &slot);
	work_run(work, &job);
	assert_int_equal(job.outcome, JOB_CORRUPT);
	assert_non_null(strstr(job.fault.text, "sample 5, which it is mixed with: "));
	job_free(&job);
	/* With substitutes it is the partner's neighbour, with the partner's draws. */
	recipe.substitutes = 3;
	job = mixed_job(&recipe, 4, 5, &slot);
	work_run(work, &job);
	assert_int_equal(job.outcome, JOB_DONE);
	assert_false(job.substituted);
	job_free(&job);
	assert_mixed(slot.image, 4, 6);
}

/* What nobody waits for is not made; what one of a chain waits for is. */
static void test_unwanted(void **state)
{
	struct work *work = *state;
	struct slot_memory *slots = calloc(2, sizeof(*slots));
	const atomic_bool unwanted = true;
	struct job jobs[2];
	assert_non_null(slots);
	for (int both = 0; both < 2; both++) {
		for (int i = 0; i < 2; i++)
			jobs[i] = work_job(&work->recipe, 3, &slots[i]);
		jobs[0].sharer = &jobs[1];
		jobs[0].unwanted = &unwanted;
		jobs[1].unwanted = both ? &unwanted : NULL;
		memset(slots, 0, 2 * sizeof(*slots));
		work_run(work, &jobs[0]);
		assert_int_equal(jobs[0].outcome, JOB_UNWANTED);
		assert_int_equal(jobs[1].outcome, both ? JOB_UNWANTED : JOB_DONE);
		if (both)
			assert_int_equal(slots[1].image[0], 0);
		else
			assert_middle(slots[1].image, 3);
		job_free(&jobs[0]);
	}
	free(slots);
}

/* A job that was fetched and then cancelled gives back what it has pinned. */
static void test_forgotten(void **state)
{
	struct work *work = *state;
	struct job_recipe recipe = work_recipe(work, work_pipeline_float(&mixed), 1);
	struct slot_memory slot;
	recipe.keeper = work_keeping(work, false).keeper;
	keep(work, &recipe);
	struct job job = mixed_job(&recipe, 2, 3, &slot);
	sample_fetch(&job);
	assert_true(job.own.source.picture && job.partner[0].own.source.picture);
	sample_forget(&job);
	sample_forget(&job);
	assert_false(job.own.source.picture || job.partner[0].own.source.picture);
	picture_set_drop(work->pictures);
	picture_cache_trim(&work->cache);
	assert_int_equal(work->cache.bytes, 0);
	job_free(&job);
}

/* -- masks -------------------------------------------------------------------------------- */

#define SIDE 20

static void put_mask_files(struct work *work)
{
	uint8_t picture[64 + 3 * SIDE * SIDE], mask[64 + SIDE * SIDE];
	int at = sprintf((char *)picture, "P6 %d %d 255\n", SIDE, SIDE);
	memset(picture + at, 9, 3 * SIDE * SIDE);
	work_put(work, "p.ppm", picture, (size_t)at + 3 * SIDE * SIDE);
	at = sprintf((char *)mask, "P5 %d %d 255\n", SIDE, SIDE);
	for (int i = 0; i < SIDE * SIDE; i++)
		mask[at + i] = (uint8_t)(i * 7);
	work_put(work, "m.pgm", mask, (size_t)at + SIDE * SIDE);
	work_put(work, "wide.pgm", "P5 2 1 255\nab", 13);
	static const char list[] = "{\"path\": \"p.ppm\", \"mask\": \"m.pgm\"}\n"
				   "{\"path\": \"p.ppm\", \"mask\": \"wide.pgm\"}\n"
				   "{\"path\": \"p.ppm\", \"mask\": \"none.pgm\"}\n";
	work_put(work, "x.jsonl", list, sizeof(list) - 1);
	work_open(work, "photos/a/x.jsonl");
}

static void test_masks(void **state)
{
	static const enum job_outcome outcomes[] = {JOB_DONE, JOB_TRANSFORM, JOB_READ};
	struct work *work = *state;
	struct slot_memory slot;
	const struct field_choice all = {.views = 1};
	struct fault fault;
	put_mask_files(work);
	for (int kept = 0; kept < 2; kept++) {
		struct job_recipe recipe = kept ? work_keeping(work, true) : work->recipe;
		assert_int_equal(
			fields_init(&recipe.fields, work->dataset, recipe.pipeline, &all, &fault),
			0);
		assert_int_equal(recipe.fields.mask, FIELD_FURTHER);
		work->kit.idle = true;
		for (int use = 0; use < 3; use++) {
			for (uint64_t sample = 0; sample < 3; sample++)
				assert_int_equal(work_make(work, &recipe, sample, &slot),
						 outcomes[sample]);
			memset(&slot, 0, sizeof(slot));
			assert_int_equal(work_make(work, &recipe, 0, &slot), JOB_DONE);
			for (int y = 0; y < OUT; y++)
				for (int x = 0; x < OUT; x++)
					assert_int_equal(slot.further[y * OUT + x],
							 (uint8_t)(((y + 2) * SIDE + x + 2) * 7));
		}
	}
	assert_true(work->cache.hits > 0);
}

/* -- index, measure, keep ----------------------------------------------------------------- */

static struct job run_purpose(struct work *work, struct job_recipe *recipe,
			      const struct purpose *purpose, uint64_t sample)
{
	struct job job = {.recipe = recipe, .sample = sample};
	recipe->purpose = purpose;
	work_run(work, &job);
	job_free(&job);
	return job;
}

static void test_index(void **state)
{
	struct work *work = *state;
	struct job_recipe recipe = work->recipe;
	recipe.pipeline = NULL;
	struct job job = run_purpose(work, &recipe, &purpose_index, 1);
	assert_int_equal(job.outcome, JOB_DONE);
	assert_int_equal(job.index_result, JOB_NOT_JPEG);
	work_use_jpegs(work, 64, 48, JPEG_BASELINE);
	recipe = work->recipe;
	recipe.pipeline = NULL;
	job = run_purpose(work, &recipe, &purpose_index, 1);
	assert_int_equal(job.outcome, JOB_DONE);
	assert_int_equal(job.index_result, JOB_INDEXED);
	assert_true(job.index_bytes > 0);
	work_use_jpegs(work, 64, 48, JPEG_PROGRESSIVE);
	recipe = work->recipe;
	job = run_purpose(work, &recipe, &purpose_index, 1);
	assert_int_equal(job.outcome, JOB_DONE);
	assert_int_equal(job.index_result, SEEK_INDEX_E_PROGRESSIVE);
	spoil(work, "01.jpg");
	work_open(work, NULL);
	recipe = work->recipe;
	recipe.max_bytes = 4;
	job = run_purpose(work, &recipe, &purpose_index, 1);
	assert_int_equal(job.outcome, JOB_LIMIT);
	assert_true(job.fault.text[0]);
}

/* The sums of all pixels of the middle, by the formula. */
static void test_measure(void **state)
{
	struct work *work = *state;
	uint64_t wanted[3] = {0};
	for (uint64_t sample = 0; sample < SAMPLES; sample++)
		for (int32_t y = 0; y < OUT; y++)
			for (int32_t x = 0; x < OUT; x++)
				for (int c = 0; c < 3; c++)
					wanted[c] += formula(sample, (WIDTH - OUT) / 2 + x,
							     (HEIGHT - OUT) / 2 + y, c);
	for (int way = 0; way < 3; way++) {
		if (way == 2)
			work_use_array(work);
		struct job_recipe recipe = way == 1 ? work_keeping(work, false) : work->recipe;
		if (way == 1)
			keep(work, &recipe);
		assert_int_equal(moments_new(&recipe.moments, 3 * OUT * OUT, MOMENTS_OF_CHANNELS),
				 0);
		for (uint64_t sample = 0; sample < SAMPLES; sample++)
			assert_int_equal(
				run_purpose(work, &recipe, &purpose_measure, sample).outcome,
				JOB_DONE);
		assert_int_equal(moments_end(recipe.moments), 0);
		assert_int_equal(moments_samples(recipe.moments), SAMPLES);
		for (int c = 0; c < 3; c++)
			assert_int_equal(moments_sums(recipe.moments)[c], wanted[c]);
		moments_free(recipe.moments);
	}
}

static void test_a_bad_sample_is_not_measured(void **state)
{
	struct work *work = *state;
	spoil(work, "05.ppm");
	work_open(work, NULL);
	struct job_recipe recipe = work->recipe;
	assert_int_equal(moments_new(&recipe.moments, 3 * OUT * OUT, MOMENTS_OF_CHANNELS), 0);
	assert_int_equal(run_purpose(work, &recipe, &purpose_measure, 5).outcome, JOB_CORRUPT);
	assert_int_equal(run_purpose(work, &recipe, &purpose_measure, 6).outcome, JOB_DONE);
	assert_int_equal(moments_end(recipe.moments), 0);
	assert_int_equal(moments_samples(recipe.moments), 1);
	moments_free(recipe.moments);
}

/* One use is enough, and nothing is made of it. */
static void test_warm(void **state)
{
	struct work *work = *state;
	struct job_recipe recipe = work_keeping(work, true);
	recipe.keeper.room_only = true;
	for (uint64_t sample = 0; sample < SAMPLES; sample++) {
		struct job job = run_purpose(work, &recipe, &purpose_warm, sample);
		assert_int_equal(job.outcome, JOB_DONE);
		assert_true(job.stored);
		assert_true(picture_set_has(work->pictures, sample));
	}
	assert_int_equal(work->disk->pictures, SAMPLES);
	/* What memory has goes to the disk, too, without a decode. */
	picture_store_drop(work->disk);
	struct job job = run_purpose(work, &recipe, &purpose_warm, 3);
	assert_true(job.stored && !job.decoded && job.own.source.bytes_read == 0);
	assert_int_equal(work->disk->pictures, 1);
	struct slot_memory slot;
	const struct job_recipe writes = work_keeping(work, true);
	assert_int_equal(work_make(work, &writes, 3, &slot), JOB_DONE);
	assert_middle(slot.image, 3);
}

static void test_a_bad_sample_is_not_warmed(void **state)
{
	struct work *work = *state;
	spoil(work, "05.ppm");
	work_open(work, NULL);
	struct job_recipe recipe = work_keeping(work, true);
	struct job job = run_purpose(work, &recipe, &purpose_warm, 5);
	assert_false(job.stored || picture_set_has(work->pictures, 5));
}

static void test_purposes(void **state)
{
	(void)state;
	assert_true(purpose_write.has_slot);
	assert_false(purpose_index.has_slot || purpose_measure.has_slot || purpose_warm.has_slot);
	assert_true(purpose_warm.only_keeps);
	assert_false(purpose_write.only_keeps || purpose_measure.only_keeps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORK_CASE(test_substitutes),
		WORK_CASE(test_substitutes_are_few),
		WORK_CASE(test_a_chain_of_substitutes),
		WORK_CASE(test_mix),
		WORK_CASE(test_a_chain_that_mixes),
		WORK_CASE(test_a_bad_partner),
		WORK_CASE(test_unwanted),
		WORK_CASE(test_forgotten),
		WORK_CASE(test_masks),
		WORK_CASE(test_index),
		WORK_CASE(test_measure),
		WORK_CASE(test_a_bad_sample_is_not_measured),
		WORK_CASE(test_warm),
		WORK_CASE(test_a_bad_sample_is_not_warmed),
		cmocka_unit_test(test_purposes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
