// SPDX-License-Identifier: MIT
/*
 * What is kept of a sample that was decoded, and when: pixels in memory or on the disk, or a
 * rewritten file; and that a picture is the same from what is kept as from its file.
 */
#include "tests/unit/work/fixture.h"

#include "store/keep.h"

#define EARLY 4 /* of the samples 0 to 11: 0, 2, 5, 10 */

static uint64_t kept_in_memory(const struct work *work)
{
	return work->cache.pictures + work->cache.files;
}

/* Make each sample once. */
static void visit_all(struct work *work, const struct job_recipe *recipe, bool idle)
{
	struct slot_memory slot;
	work->kit.idle = idle;
	for (uint64_t sample = 0; sample < dataset_count(work->dataset); sample++)
		assert_int_equal(work_make(work, recipe, sample, &slot), JOB_DONE);
	work->kit.idle = false;
}

/* -- pixels ------------------------------------------------------------------------------- */

/* A sample that is seen once may never be seen again; so of the first visits a quarter keeps. */
static void test_a_quarter_at_the_first_visit(void **state)
{
	struct work *work = *state;
	const struct job_recipe recipe = work_keeping(work, true);
	visit_all(work, &recipe, false);
	assert_int_equal(work->cache.pictures, EARLY);
	assert_int_equal(work->disk->pictures, 0);
	visit_all(work, &recipe, false);
	assert_int_equal(work->cache.pictures, SAMPLES);
	assert_int_equal(work->disk->pictures, 0); /* memory had room */
}

/* Time to spare costs nothing: the first use keeps, and the disk gets a copy. */
static void test_with_time_to_spare(void **state)
{
	struct work *work = *state;
	const struct job_recipe recipe = work_keeping(work, true);
	visit_all(work, &recipe, true);
	assert_int_equal(work->cache.pictures, SAMPLES);
	assert_int_equal(work->disk->pictures, SAMPLES);
}

static void test_the_disk_where_memory_has_no_room(void **state)
{
	struct work *work = *state;
	const struct job_recipe recipe = work_keeping(work, true);
	/* A picture of 3,600 bytes takes a page; it may have a sixteenth. */
	picture_cache_set_limit(&work->cache, (uint64_t)5 * 4096);
	visit_all(work, &recipe, false);
	visit_all(work, &recipe, false);
	assert_int_equal(work->cache.pictures, 0);
	assert_int_equal(work->disk->pictures, SAMPLES);
	picture_cache_set_limit(&work->cache, (uint64_t)20 * 4096);
	picture_store_drop(work->disk);
	visit_all(work, &recipe, false);
	assert_int_equal(work->cache.pictures, SAMPLES);
	assert_int_equal(work->disk->pictures, 0);
}

static void test_without_a_limit_nothing(void **state)
{
	struct work *work = *state;
	const struct job_recipe recipe = work_keeping(work, false);
	work_use_no_memory(work);
	visit_all(work, &recipe, true);
	visit_all(work, &recipe, true);
	assert_int_equal(kept_in_memory(work), 0);
	picture_store_set_limit(work->disk, 0);
	const struct job_recipe disk = work_keeping(work, true);
	visit_all(work, &disk, true);
	assert_int_equal(work->disk->pictures, 0);
}

/* Where only free room is used, a full cache stays as it is. */
static void test_only_free_room(void **state)
{
	struct work *work = *state;
	struct job_recipe recipe = work_keeping(work, false);
	struct slot_memory slot;
	recipe.keeper.room_only = true;
	picture_cache_set_limit(&work->cache, (uint64_t)16 * 4096);
	work_use_jpegs(work, 40, 30, JPEG_BASELINE);
	recipe.dataset = work->dataset;
	recipe.keeper.pictures = work->pictures;
	recipe.seek_indexes = work->indexes;
	picture_cache_set_limit(&work->cache, (uint64_t)SAMPLES / 2 * 4096);
	visit_all(work, &recipe, true);
	assert_int_equal(work->cache.pictures, 0); /* above a sixteenth of so little */
	picture_cache_set_limit(&work->cache, (uint64_t)16 * 4096);
	for (uint64_t round = 0; round < 3; round++)
		visit_all(work, &recipe, true);
	assert_true(work->cache.bytes <= (uint64_t)16 * 4096);
	assert_int_equal(work->cache.replaced, 0);
	assert_int_equal(work_make(work, &recipe, 0, &slot), JOB_DONE);
}

/* Pixels have no alpha, so they are not kept by a job that takes it. */
static void test_not_without_its_alpha(void **state)
{
	const struct value rgba =
		LIST(NAMED("Resize", KEY("size", LIST(UINT(OUT), UINT(OUT)))),
		     NAMED("ImageDataGenerator", KEY("color_mode", TEXT("rgba"))));
	struct work *work = *state;
	struct picture picture = picture_png(WIDTH, HEIGHT, 6, 8, false);
	work_put(work, "00.ppm", picture.data, picture.size);
	free(picture.data);
	work_open(work, NULL);
	struct job_recipe recipe = work_recipe(work, work_pipeline_float(&rgba), 1);
	recipe.keeper = work_keeping(work, true).keeper;
	visit_all(work, &recipe, true);
	assert_false(picture_set_has(work->pictures, 0));
	assert_int_equal(work->cache.pictures, SAMPLES - 1);
	assert_int_equal(work->disk->pictures, SAMPLES - 1);
}

/* A picture that is damaged is refused for good, and costs one try. */
static void test_a_damaged_picture_is_not_kept(void **state)
{
	struct work *work = *state;
	struct slot_memory slot;
	work_put(work, "00.ppm", "P6 40 30 255\nabc", 16);
	work_open(work, NULL);
	const struct job_recipe recipe = work_keeping(work, true);
	work->kit.idle = true;
	assert_int_equal(work_make(work, &recipe, 0, &slot), JOB_CORRUPT);
	assert_false(picture_set_has(work->pictures, 0));
	assert_int_equal(work->cache.bytes, 0);
	assert_int_equal(work->disk->pictures, 0);
}

/* -- a rewritten file --------------------------------------------------------------------- */

#define LARGE_WIDTH 400
#define LARGE_HEIGHT 300 /* pixels of 12 such are above the budget, their files are not */
#define BUDGET ((uint64_t)3 << 20)

/* JPEGs without a seek index, too many for their pixels to be kept. */
static struct job_recipe use_slow_jpegs(struct work *work, bool disk)
{
	picture_cache_set_limit(&work->cache, disk ? 0 : BUDGET);
	picture_store_set_limit(work->disk, BUDGET);
	work_use_jpegs(work, LARGE_WIDTH, LARGE_HEIGHT, JPEG_PROGRESSIVE);
	return work_keeping(work, disk);
}

/* The middle of the picture by libjpeg alone. */
static void assert_plain(const uint8_t *array)
{
	static const struct jpeg_recipe form = {LARGE_WIDTH, LARGE_HEIGHT,    3, 2,
						2,	     JPEG_PROGRESSIVE};
	struct picture picture = picture_jpeg(&form);
	uint8_t *plain = jpeg_plain(&picture);
	const size_t left = (LARGE_WIDTH - OUT) / 2, top = (LARGE_HEIGHT - OUT) / 2;
	for (size_t y = 0; y < OUT; y++)
		assert_memory_equal(array + y * OUT * 3,
				    plain + ((top + y) * LARGE_WIDTH + left) * 3, OUT * 3);
	free(plain);
	free(picture.data);
}

static void test_a_file_in_memory(void **state)
{
	struct work *work = *state;
	const struct job_recipe recipe = use_slow_jpegs(work, false);
	struct slot_memory slot;
	visit_all(work, &recipe, false);
	assert_int_equal(work->cache.files, EARLY);
	visit_all(work, &recipe, false);
	assert_int_equal(work->cache.files, SAMPLES);
	assert_int_equal(work->cache.pictures, 0);
	for (uint64_t sample = 0; sample < SAMPLES; sample++) {
		struct job job = work_job(&recipe, sample, &slot);
		work_run(work, &job);
		assert_int_equal(job.outcome, JOB_DONE);
		assert_int_equal(job.own.source.kind, SOURCE_FILE);
		assert_true(job.own.source.rewritten && job.decoded);
		assert_int_equal(job.own.source.bytes_read, 0);
		assert_plain(slot.image);
		job_free(&job);
	}
	assert_true(work->cache.file_hits >= SAMPLES);
}

/* It is kept as the bytes of a file: found as one, never as pixels, and read whole. */
static void test_a_file_is_kept_as_a_file(void **state)
{
	struct work *work = *state;
	const struct job_recipe recipe = use_slow_jpegs(work, false);
	visit_all(work, &recipe, true);
	struct input input = {0};
	struct stage_reads reads = {0};
	source_read(&input, &recipe, 3, true, &reads);
	const struct cached_picture *file = input.source.picture;
	assert_non_null(file);
	assert_true(file->key.file);
	assert_int_equal(file->width, 0);
	assert_int_equal(file->memory.size, source_bytes(&input.source)->size);
	assert_memory_equal(file->memory.data, "\xFF\xD8", 2);
	assert_memory_equal(file->memory.data + file->memory.size - 2, "\xFF\xD9", 2);
	struct picture_key key = file->key;
	key.file = false;
	key.scale = 1;
	assert_null(picture_set_find(work->pictures, &key, false));
	source_deinit(&input.source);
}

static void test_a_file_on_the_disk(void **state)
{
	struct work *work = *state;
	const struct job_recipe recipe = use_slow_jpegs(work, true);
	struct slot_memory slot;
	visit_all(work, &recipe, true);
	assert_int_equal(work->disk->pictures, SAMPLES);
	for (uint64_t sample = 0; sample < SAMPLES; sample++) {
		struct job job = work_job(&recipe, sample, &slot);
		work_run(work, &job);
		assert_int_equal(job.outcome, JOB_DONE);
		assert_true(job.own.source.rewritten);
		assert_null(job.own.source.picture);
		assert_memory_equal(job.own.source.bytes.data, "\xFF\xD8", 2);
		assert_int_equal(job.own.source.bytes_read, 0);
		assert_plain(slot.image);
		job_free(&job);
	}
	assert_int_equal(work->disk->hits, SAMPLES);
	/* It has a seek index of its own, so a part takes less than the whole. */
	assert_true(work->account.built > 0);
}

/* What memory has goes to the disk as what it is. */
static void test_a_copy(void **state)
{
	struct work *work = *state;
	const struct job_recipe recipe = use_slow_jpegs(work, false);
	visit_all(work, &recipe, true);
	const struct keeper keeper = {work->pictures, work->disk, true};
	const struct job_recipe both = {.keeper = keeper};
	struct input input = {0};
	struct stage_reads reads = {0};
	struct buffer bytes = BUFFER_NULL;
	source_read(&input, &recipe, 3, true, &reads);
	keep_copy(&both.keeper, input.source.picture);
	assert_int_equal(work->disk->pictures, 1);
	const struct stored_key key = keeper_stored_key(&input.source.picture->key);
	assert_true(picture_store_read_file(work->disk, &key, &bytes));
	assert_int_equal(bytes.size, input.source.picture->memory.size);
	assert_memory_equal(bytes.data, input.source.picture->memory.data, bytes.size);
	keep_copy(&both.keeper, input.source.picture); /* it is there */
	assert_int_equal(work->disk->pictures, 1);
	source_deinit(&input.source);
	buffer_deinit(&bytes);
}

/* Where all pixels fit, they are kept, not files. */
static void test_pixels_where_they_fit(void **state)
{
	struct work *work = *state;
	picture_cache_set_limit(&work->cache, (uint64_t)64 << 20);
	work_use_jpegs(work, LARGE_WIDTH, LARGE_HEIGHT, JPEG_PROGRESSIVE);
	const struct job_recipe recipe = work_keeping(work, false);
	visit_all(work, &recipe, true);
	assert_int_equal(work->cache.pictures, SAMPLES);
	assert_int_equal(work->cache.files, 0);
}

/* A baseline JPEG has an index already, and without indexes a rewritten file is of no use. */
static void test_no_file_where_it_does_not_help(void **state)
{
	struct work *work = *state;
	picture_cache_set_limit(&work->cache, BUDGET);
	work_use_jpegs(work, LARGE_WIDTH, LARGE_HEIGHT, JPEG_BASELINE);
	struct job_recipe recipe = work_keeping(work, false);
	visit_all(work, &recipe, true);
	assert_int_equal(work->cache.files, 0);
	recipe = use_slow_jpegs(work, false);
	recipe.seek_indexes = NULL;
	visit_all(work, &recipe, true);
	assert_int_equal(work->cache.files, 0);
}

/* The drawn parts of a picture, from each form in which it is kept. */
static void test_the_form_changes_no_byte(void **state)
{
	const struct value drawn = LIST(NAMED("RandomResizedCrop", KEY("size", UINT(OUT))),
					BARE("RandomHorizontalFlip"));
	struct work *work = *state;
	struct slot_memory *plain = calloc(SAMPLES, sizeof(*plain)), slot;
	assert_non_null(plain);
	struct job_recipe recipe = use_slow_jpegs(work, false);
	recipe = work_recipe(work, work_pipeline(&drawn), 1);
	for (uint64_t sample = 0; sample < SAMPLES; sample++)
		assert_int_equal(work_make(work, &recipe, sample, &plain[sample]), JOB_DONE);
	for (int form = 0; form < 4; form++) {
		uint64_t limit = form == 0 ? BUDGET : form == 1 ? (uint64_t)64 << 20 : 0;
		picture_cache_set_limit(&work->cache, limit);
		picture_store_set_limit(work->disk, form == 3 ? (uint64_t)64 << 20 : BUDGET);
		work_open(work, NULL);
		recipe = work_recipe(work, recipe.pipeline, 1);
		recipe.keeper = work_keeping(work, form > 1).keeper;
		for (int round = 0; round < 3; round++) {
			for (uint64_t sample = 0; sample < SAMPLES; sample++) {
				work->kit.idle = round == 0;
				assert_int_equal(work_make(work, &recipe, sample, &slot), JOB_DONE);
				assert_memory_equal(slot.image, plain[sample].image, OUT_BYTES);
			}
		}
		assert_true(work->cache.pictures + work->cache.files + work->disk->pictures >= 10);
		picture_store_drop(work->disk);
	}
	free(plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORK_CASE(test_a_quarter_at_the_first_visit),
		WORK_CASE(test_with_time_to_spare),
		WORK_CASE(test_the_disk_where_memory_has_no_room),
		WORK_CASE(test_without_a_limit_nothing),
		WORK_CASE(test_only_free_room),
		WORK_CASE(test_not_without_its_alpha),
		WORK_CASE(test_a_damaged_picture_is_not_kept),
		WORK_CASE(test_a_file_in_memory),
		WORK_CASE(test_a_file_is_kept_as_a_file),
		WORK_CASE(test_a_file_on_the_disk),
		WORK_CASE(test_a_copy),
		WORK_CASE(test_pixels_where_they_fit),
		WORK_CASE(test_no_file_where_it_does_not_help),
		WORK_CASE(test_the_form_changes_no_byte),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
