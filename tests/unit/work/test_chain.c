// SPDX-License-Identifier: MIT
/*
 * Chains of jobs: each job writes the bytes that it would write alone, from any source and beside
 * any other jobs. Checksums are of pixels that Pillow made.
 */
#include "tests/unit/work/fixture.h"

#include <stdio.h>
#include <unistd.h>

#define CHAIN 4

static const struct value middle = LIST(NAMED("CenterCrop", KEY("size", UINT(OUT))));
static const struct value corner = LIST(NAMED("CenterCrop", KEY("size", UINT(8))));
static const struct value drawn =
	LIST(NAMED("RandomCrop", KEY("size", UINT(OUT))), BARE("RandomHorizontalFlip"));
static const struct value smaller = LIST(NAMED("Resize", KEY("size", LIST(UINT(12), UINT(16)))));
static const struct value half = LIST(NAMED("Resize", KEY("size", LIST(UINT(24), UINT(32)))));
static const struct value large = LIST(NAMED("RandomCrop", KEY("size", UINT(60))));
static const struct value rgba = LIST(NAMED("Resize", KEY("size", LIST(UINT(OUT), UINT(OUT)))),
				      NAMED("ImageDataGenerator", KEY("color_mode", TEXT("rgba"))));

/* Sources of pixels: a file, the picture cache, the picture store, an array. */
enum way { FROM_FILE, FROM_MEMORY, FROM_DISK, FROM_ARRAY, WAYS };

/* Make all samples once while the workers are idle, which is when pictures are kept. */
static void keep_all(struct work *work, struct job_recipe recipe)
{
	struct slot_memory slot;
	work->kit.idle = true;
	for (uint64_t sample = 0; sample < SAMPLES; sample++)
		assert_int_equal(work_make(work, &recipe, sample, &slot), JOB_DONE);
	work->kit.idle = false;
}

/* Serve all samples from this source from now on. Returns the keeper that a recipe needs for it. */
static struct keeper prepare(struct work *work, enum way way)
{
	static const enum source_kind kinds[] = {SOURCE_FILE, SOURCE_KEPT, SOURCE_STORED,
						 SOURCE_ARRAY};
	if (way == FROM_ARRAY)
		work_use_array(work);
	if (way == FROM_DISK)
		work_use_no_memory(work);
	struct job_recipe recipe = work->recipe;
	if (way == FROM_MEMORY || way == FROM_DISK)
		recipe = work_keeping(work, way == FROM_DISK);
	keep_all(work, recipe);
	assert_int_equal(work_source(work, &recipe, 0), kinds[way]);
	return recipe.keeper;
}

static struct job_recipe recipe_of(const struct work *work, const struct value *list,
				   struct keeper keeper, uint32_t views)
{
	struct job_recipe recipe = work_recipe(work, work_pipeline(list), views);
	recipe.keeper = keeper;
	return recipe;
}

/* Make one job alone. */
static void make_alone(struct work *work, const struct job_recipe *recipe, uint64_t sample,
		       uint64_t position, struct slot_memory *slot)
{
	struct job job = work_job(recipe, sample, slot);
	job.key.position = position;
	work_run(work, &job);
	assert_int_equal(job.outcome, JOB_DONE);
	job_free(&job);
}

/* Link jobs of a sample, each at a position of its own. */
static void link_jobs(struct job jobs[], struct slot_memory slots[],
		      const struct job_recipe *const recipes[], unsigned count, uint64_t sample)
{
	for (unsigned i = 0; i < count; i++) {
		memset(&slots[i], 0, sizeof(slots[i]));
		jobs[i] = work_job(recipes[i], sample, &slots[i]);
		jobs[i].key.position = 100 + i;
		if (i > 0)
			jobs[i - 1].sharer = &jobs[i];
	}
}

static size_t bytes_of(const struct job_recipe *recipe)
{
	return recipe->fields.field[FIELD_IMAGE].bytes;
}

/* -- one job ------------------------------------------------------------------------------ */

static void test_each_source_gives_the_formula(void **state)
{
	struct work *work = *state;
	struct slot_memory slot;
	for (enum way way = FROM_FILE; way < WAYS; way++) {
		struct keeper keeper = prepare(work, way);
		const struct job_recipe recipe = recipe_of(work, &middle, keeper, 1);
		for (uint64_t sample = 0; sample < SAMPLES; sample++) {
			struct job job = work_job(&recipe, sample, &slot);
			memset(&slot, 0, sizeof(slot));
			work_run(work, &job);
			assert_int_equal(job.outcome, JOB_DONE);
			assert_middle(slot.image, sample);
			assert_true(job.decoded == (way == FROM_FILE) && !job.shared);
			assert_int_equal(job.own.source.bytes_read > 0, way == FROM_FILE);
			int64_t index;
			memcpy(&index, slot.index, sizeof(index));
			assert_int_equal(index, sample);
			job_free(&job);
		}
		picture_cache_set_limit(&work->cache, 1 << 20);
	}
}

/* The sums are zlib.crc32() of what Pillow makes of the formula's pixels:
 * Image.frombytes("RGB", (40, 30), formula).resize((16, 12), Image.BILINEAR). */
static void test_a_resize_is_pillows(void **state)
{
	static const uint32_t sums[] = {0x0F97BEDE, 0x747DDD55, 0xF63A81E5, 0x7C0E0B36};
	struct work *work = *state;
	struct slot_memory slot;
	for (enum way way = FROM_FILE; way < WAYS; way++) {
		struct keeper keeper = prepare(work, way);
		const struct job_recipe recipe = recipe_of(work, &smaller, keeper, 1);
		for (uint64_t sample = 0; sample < sizeof(sums) / sizeof(sums[0]); sample++) {
			make_alone(work, &recipe, sample, 0, &slot);
			assert_int_equal(checksum(slot.image, 3 * 12 * 16), sums[sample]);
		}
		picture_cache_set_limit(&work->cache, 1 << 20);
	}
}

/* A view of a sample has the bytes of a sample without views that draws at its key. */
static void test_views(void **state)
{
	struct work *work = *state;
	struct slot_memory views, alone;
	for (enum way way = FROM_FILE; way < WAYS; way++) {
		struct keeper keeper = prepare(work, way);
		const struct job_recipe two = recipe_of(work, &drawn, keeper, 2);
		const struct job_recipe one = recipe_of(work, &drawn, keeper, 1);
		make_alone(work, &two, 4, 11, &views);
		for (uint32_t view = 0; view < 2; view++) {
			struct job job = work_job(&one, 4, &alone);
			job.key.position = 11;
			job.key = draw_view(&job.key, view);
			work_run(work, &job);
			assert_memory_equal(views.image + view * OUT_BYTES, alone.image, OUT_BYTES);
			job_free(&job);
		}
		assert_memory_not_equal(views.image, views.image + OUT_BYTES, OUT_BYTES);
		picture_cache_set_limit(&work->cache, 1 << 20);
	}
}

/* -- chains of several jobs
 * ------------------------------------------------------------------------------ */

static void test_a_chain_has_the_bytes_of_each(void **state)
{
	struct work *work = *state;
	struct slot_memory *slots = calloc(CHAIN + 1, sizeof(*slots));
	struct job jobs[CHAIN];
	assert_non_null(slots);
	for (enum way way = FROM_FILE; way < WAYS; way++) {
		struct keeper keeper = prepare(work, way);
		const struct job_recipe a = recipe_of(work, &middle, keeper, 1);
		const struct job_recipe b = recipe_of(work, &drawn, keeper, 1);
		const struct job_recipe *const recipes[CHAIN] = {&b, &a, &b, &b};
		for (uint64_t sample = 0; sample < SAMPLES; sample++) {
			link_jobs(jobs, slots, recipes, CHAIN, sample);
			work_run(work, &jobs[0]);
			for (unsigned i = 0; i < CHAIN; i++) {
				make_alone(work, recipes[i], sample, 100 + i, &slots[CHAIN]);
				assert_int_equal(jobs[i].outcome, JOB_DONE);
				assert_memory_equal(slots[i].image, slots[CHAIN].image, OUT_BYTES);
				assert_int_equal(jobs[i].shared, i > 0 && way != FROM_ARRAY);
				job_free(&jobs[i]);
			}
			assert_middle(slots[1].image, sample);
		}
		picture_cache_set_limit(&work->cache, 1 << 20);
	}
	free(slots);
}

/* A job that fails does not touch the other jobs of its chain. */
static void test_one_of_a_chain_fails(void **state)
{
	struct work *work = *state;
	struct slot_memory *slots = calloc(3, sizeof(*slots));
	struct job jobs[3];
	assert_non_null(slots);
	for (enum way way = FROM_FILE; way < WAYS; way++) {
		struct keeper keeper = prepare(work, way);
		const struct job_recipe a = recipe_of(work, &middle, keeper, 1);
		const struct job_recipe b = recipe_of(work, &large, keeper, 1);
		const struct job_recipe *const recipes[3] = {&b, &a, &b};
		link_jobs(jobs, slots, recipes, 3, 5);
		work_run(work, &jobs[0]);
		assert_int_equal(jobs[0].outcome, JOB_TRANSFORM);
		assert_int_equal(jobs[1].outcome, JOB_DONE);
		assert_int_equal(jobs[2].outcome, JOB_TRANSFORM);
		assert_non_null(strstr(jobs[2].fault.text, "RandomCrop"));
		assert_middle(slots[1].image, 5);
		for (unsigned i = 0; i < 3; i++)
			job_free(&jobs[i]);
		picture_cache_set_limit(&work->cache, 1 << 20);
	}
	free(slots);
}

/* If all jobs of a chain fail on a kept picture, the file is not read instead. */
static void test_all_of_a_chain_fail(void **state)
{
	struct work *work = *state;
	struct slot_memory slot;
	for (enum way way = FROM_MEMORY; way < WAYS; way++) {
		struct keeper keeper = prepare(work, way);
		const struct job_recipe recipe = recipe_of(work, &large, keeper, 1);
		struct job job = work_job(&recipe, 5, &slot);
		work_run(work, &job);
		assert_int_equal(job.outcome, JOB_TRANSFORM);
		assert_int_equal(job.own.source.bytes_read, 0);
		assert_false(job.decoded);
		job_free(&job);
		picture_cache_set_limit(&work->cache, 1 << 20);
	}
}

/* Check that both jobs of a chain fail in this way, with these words. */
static void check_bad(struct work *work, enum job_outcome outcome, const char *words)
{
	struct slot_memory *slots = calloc(2, sizeof(*slots));
	const struct job_recipe *const recipes[2] = {&work->recipe, &work->recipe};
	struct job jobs[2];
	assert_non_null(slots);
	link_jobs(jobs, slots, recipes, 2, 0);
	work_run(work, &jobs[0]);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(jobs[i].outcome, outcome);
		if (!strstr(jobs[i].fault.text, words))
			fail_msg("no '%s' in '%s'", words, jobs[i].fault.text);
		job_free(&jobs[i]);
	}
	free(slots);
}

static void test_bad_files(void **state)
{
	struct work *work = *state;
	char path[128];
	work_put(work, "00.ppm", "nothing", 7);
	work_open(work, NULL);
	check_bad(work, JOB_FORMAT, "unrecognised image format");
	work_put(work, "00.ppm", "P6 40 30 255\nabc", 16);
	work_open(work, NULL);
	check_bad(work, JOB_CORRUPT, "");
	work_put(work, "00.ppm", "P6 40000 30000 255\nabc", 22);
	work_open(work, NULL);
	check_bad(work, JOB_LIMIT, "");
	work->recipe.max_bytes = 10;
	check_bad(work, JOB_LIMIT, "10");
	snprintf(path, sizeof(path), "%s/photos/a/00.ppm", work->path);
	work_open(work, NULL);
	assert_int_equal(unlink(path), 0);
	check_bad(work, JOB_READ, "");
}

/* -- scales ------------------------------------------------------------------------------- */

static struct job_recipe draft_recipe(struct work *work, const struct value *list,
				      struct keeper keeper)
{
	struct pipeline *pipeline = work_pipeline(list);
	assert_int_equal(pipeline_allow(pipeline, true, false), 0);
	struct job_recipe recipe = work_recipe(work, pipeline, 1);
	recipe.keeper = keeper;
	return recipe;
}

/* Jobs of a chain that need different scales do not share a decode, and a picture that is kept at
 * another scale is not used: the bytes are those of jobs for which nothing is kept. */
static void test_other_scales(void **state)
{
	struct work *work = *state;
	struct slot_memory *slots = calloc(4, sizeof(*slots)), *plain = slots + 2;
	struct job jobs[2];
	assert_non_null(slots);
	work_use_jpegs(work, 64, 48, JPEG_BASELINE);
	const struct job_recipe quarter = draft_recipe(work, &smaller, (struct keeper){0});
	const struct job_recipe halved = draft_recipe(work, &half, (struct keeper){0});
	make_alone(work, &quarter, 3, 100, &plain[0]);
	make_alone(work, &halved, 3, 101, &plain[1]);
	/* Kept are: nothing; the smaller scale, in memory and on disk; the larger, on disk alone.
	 */
	for (int round = 0; round < 3; round++) {
		struct keeper keeper = work_keeping(work, round > 0).keeper;
		if (round == 2)
			work_use_no_memory(work);
		const struct job_recipe a = draft_recipe(work, &smaller, keeper);
		const struct job_recipe b = draft_recipe(work, &half, keeper);
		const struct job_recipe *const recipes[2] = {&a, &b};
		if (round)
			keep_all(work, round == 1 ? a : b);
		link_jobs(jobs, slots, recipes, 2, 3);
		work_run(work, &jobs[0]);
		assert_true(jobs[0].outcome == JOB_DONE && jobs[1].outcome == JOB_DONE);
		assert_false(jobs[1].shared);
		assert_memory_equal(slots[0].image, plain[0].image, bytes_of(&a));
		assert_memory_equal(slots[1].image, plain[1].image, bytes_of(&b));
		job_free(&jobs[0]);
		make_alone(work, round == 1 ? &b : &a, 3, 0, &slots[0]);
		assert_memory_equal(slots[0].image, plain[round == 1].image,
				    bytes_of(round == 1 ? &b : &a));
		decoder_end(work->kit.decoder);
		while (work->disk->pictures)
			picture_store_drop(work->disk);
		work_open(work, NULL);
	}
	free(slots);
}

/* The pixels of a JPEG are those of libjpeg alone, from each source. */
static void test_a_jpeg_is_libjpegs(void **state)
{
	static const struct jpeg_recipe form = {64, 48, 3, 2, 2, JPEG_BASELINE};
	struct work *work = *state;
	struct picture picture = picture_jpeg(&form);
	uint8_t *plain = jpeg_plain(&picture);
	struct slot_memory slot;
	work_use_jpegs(work, 64, 48, JPEG_BASELINE);
	for (int disk = 0; disk < 3; disk++) {
		struct keeper keeper = work_keeping(work, disk > 0).keeper;
		const struct job_recipe recipe = recipe_of(work, &corner, keeper, 1);
		if (disk == 2)
			work_use_no_memory(work);
		for (int use = 0; use < 4; use++) {
			make_alone(work, &recipe, 2, 0, &slot);
			for (int y = 0; y < 8; y++)
				assert_memory_equal(slot.image + y * 24,
						    plain + ((20 + y) * 64 + 28) * 3, 24);
		}
	}
	assert_true(work->cache.hits > 0 && work->disk->hits > 0);
	free(plain);
	free(picture.data);
}

/* -- alpha -------------------------------------------------------------------------------- */

/* Kept pixels have no alpha, so a job that needs alpha reads the file, unless the picture has no
 * alpha. */
static void test_alpha_needs_the_file(void **state)
{
	struct work *work = *state;
	struct picture picture = picture_png(WIDTH, HEIGHT, 6, 8, false);
	struct slot_memory *slots = calloc(3, sizeof(*slots));
	struct job jobs[2];
	assert_non_null(slots);
	work_put(work, "00.ppm", picture.data, picture.size);
	free(picture.data);
	work_open(work, NULL);
	const struct job_recipe alone = work_recipe(work, work_pipeline_float(&rgba), 1);
	make_alone(work, &alone, 0, 100, &slots[2]);
	struct keeper keeper = prepare(work, FROM_MEMORY);
	struct job_recipe alpha = alone;
	alpha.keeper = keeper;
	const struct job_recipe plain = recipe_of(work, &middle, keeper, 1);
	const struct job_recipe *const recipes[2] = {&alpha, &plain};
	link_jobs(jobs, slots, recipes, 2, 0);
	work_run(work, &jobs[0]);
	assert_true(jobs[0].outcome == JOB_DONE && jobs[1].outcome == JOB_DONE);
	assert_true(jobs[0].decoded && jobs[0].own.source.kind == SOURCE_FILE);
	assert_memory_equal(slots[0].image, slots[2].image, bytes_of(&alpha));
	job_free(&jobs[0]);
	link_jobs(jobs, slots, recipes, 2, 1); /* PPM */
	work_run(work, &jobs[0]);
	assert_true(!jobs[0].decoded && jobs[0].own.source.kind == SOURCE_KEPT);
	assert_middle(slots[1].image, 1);
	job_free(&jobs[0]);
	free(slots);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORK_CASE(test_each_source_gives_the_formula),
		WORK_CASE(test_a_resize_is_pillows),
		WORK_CASE(test_views),
		WORK_CASE(test_a_chain_has_the_bytes_of_each),
		WORK_CASE(test_one_of_a_chain_fails),
		WORK_CASE(test_all_of_a_chain_fail),
		WORK_CASE(test_bad_files),
		WORK_CASE(test_other_scales),
		WORK_CASE(test_a_jpeg_is_libjpegs),
		WORK_CASE(test_alpha_needs_the_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
