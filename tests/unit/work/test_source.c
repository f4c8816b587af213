// SPDX-License-Identifier: MIT
/*
 * Sources of pixels: which one a sample has, that all give the same pixels, what each of them lends
 * or copies, and what happens when one is gone.
 */
#include "tests/unit/work/fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "decode/codec.h"

static const struct rect whole = {0, 0, WIDTH, HEIGHT};

/* An input that is read and begun, as a worker has it. */
struct begun {
	struct input input;
	int32_t width, height;
	struct fault fault;
};

static int begin(struct work *work, const struct job_recipe *recipe, uint64_t sample, bool pixels,
		 struct begun *out)
{
	struct stage_reads reads = {0};
	*out = (struct begun){0};
	source_read(&out->input, recipe, sample, pixels, &reads);
	assert_int_equal(out->input.source.outcome, JOB_DONE);
	return source_begin(&work->kit.view, work->kit.decoder, recipe, &out->input,
			    &recipe->limits, &out->width, &out->height, &out->fault);
}

static void end(struct work *work, struct begun *begun)
{
	decoder_end(work->kit.decoder);
	source_deinit(&begun->input.source);
}

static void assert_formula(const struct image *image, struct rect part, uint64_t sample)
{
	assert_true(image->area.x <= part.x && image->area.y <= part.y);
	assert_true(image->area.x + image->area.width >= part.x + part.width);
	assert_true(image->area.y + image->area.height >= part.y + part.height);
	for (int32_t y = part.y; y < part.y + part.height; y++)
		for (int32_t x = part.x; x < part.x + part.width; x++)
			for (int c = 0; c < 3; c++) {
				const uint8_t *row =
					image->pixels + (size_t)(y - image->area.y) * image->stride;
				assert_int_equal(row[(x - image->area.x) * 3 + c],
						 formula(sample, x, y, c));
			}
}

/* Read parts of the source as it is found now. */
static void assert_reads(struct work *work, const struct job_recipe *recipe, enum source_kind kind,
			 uint64_t sample)
{
	static const struct rect parts[] = {
		{0, 0, WIDTH, HEIGHT}, {3, 5, 1, 1}, {20, 11, 9, 14}, {39, 29, 1, 1}};
	struct begun begun;
	struct image image;
	assert_int_equal(begin(work, recipe, sample, true, &begun), 0);
	assert_int_equal(begun.input.source.kind, kind);
	assert_true(begun.width == WIDTH && begun.height == HEIGHT);
	assert_false(decoder_can_scale(work->kit.decoder)); /* PPM files cannot */
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		assert_int_equal(decoder_read(work->kit.decoder, parts[i], &image, &begun.fault),
				 0);
		assert_formula(&image, parts[i], sample);
	}
	end(work, &begun);
}

/* Make it twice, the second time without haste, so that it is kept. */
static void keep_all(struct work *work, const struct job_recipe *recipe)
{
	struct slot_memory slot;
	work->kit.idle = true;
	for (uint64_t sample = 0; sample < SAMPLES; sample++)
		assert_int_equal(work_make(work, recipe, sample, &slot), JOB_DONE);
	work->kit.idle = false;
}

static void test_a_file(void **state)
{
	struct work *work = *state;
	for (uint64_t sample = 0; sample < SAMPLES; sample++)
		assert_reads(work, &work->recipe, SOURCE_FILE, sample);
}

static void test_a_picture_in_memory(void **state)
{
	struct work *work = *state;
	const struct job_recipe recipe = work_keeping(work, false);
	keep_all(work, &recipe);
	for (uint64_t sample = 0; sample < SAMPLES; sample++)
		assert_reads(work, &recipe, SOURCE_KEPT, sample);
}

static void test_a_picture_on_the_disk(void **state)
{
	struct work *work = *state;
	const struct job_recipe recipe = work_keeping(work, true);
	work_use_no_memory(work);
	keep_all(work, &recipe);
	for (uint64_t sample = 0; sample < SAMPLES; sample++)
		assert_reads(work, &recipe, SOURCE_STORED, sample);
	assert_true(work->disk->hits >= SAMPLES);
}

static void test_an_array(void **state)
{
	struct work *work = *state;
	work_use_array(work);
	for (uint64_t sample = 0; sample < SAMPLES; sample++)
		assert_reads(work, &work->recipe, SOURCE_ARRAY, sample);
}

/* What is in memory is not copied: two decoders see the same address. */
static void test_memory_is_lent(void **state)
{
	struct work *work = *state;
	struct job_recipe recipe = work_keeping(work, false);
	struct begun begun;
	struct image image;
	keep_all(work, &recipe);
	assert_int_equal(begin(work, &recipe, 3, true, &begun), 0);
	assert_int_equal(decoder_read(work->kit.decoder, whole, &image, &begun.fault), 0);
	assert_ptr_equal(image.pixels, begun.input.source.picture->memory.data);
	end(work, &begun);
	work_use_array(work);
	assert_int_equal(begin(work, &work->recipe, 3, true, &begun), 0);
	assert_int_equal(decoder_read(work->kit.decoder, whole, &image, &begun.fault), 0);
	assert_ptr_equal(image.pixels, dataset_pixels(work->dataset, 3).pixels);
	end(work, &begun);
}

/* A lent picture stays whole while it is used, although the cache has dropped it. */
static void test_what_is_lent_stays(void **state)
{
	struct work *work = *state;
	const struct job_recipe recipe = work_keeping(work, false);
	struct begun begun;
	struct image image;
	keep_all(work, &recipe);
	assert_int_equal(begin(work, &recipe, 3, true, &begun), 0);
	assert_int_equal(decoder_read(work->kit.decoder, whole, &image, &begun.fault), 0);
	picture_set_drop(work->pictures);
	picture_cache_trim(&work->cache);
	assert_int_equal(work_source(work, &recipe, 3), SOURCE_FILE);
	assert_formula(&image, whole, 3);
	end(work, &begun);
	assert_int_equal(work->cache.bytes, 0);
}

/* Memory before disk before file; pixels before a rewritten file. */
static void test_the_order_of_sources(void **state)
{
	struct work *work = *state;
	const struct job_recipe both = work_keeping(work, true);
	const struct job_recipe memory = work_keeping(work, false);
	keep_all(work, &both); /* without haste both get it */
	assert_int_equal(work->disk->pictures, SAMPLES);
	assert_int_equal(work_source(work, &both, 5), SOURCE_KEPT);
	picture_set_drop(work->pictures);
	picture_cache_trim(&work->cache);
	assert_int_equal(work_source(work, &both, 5), SOURCE_STORED);
	assert_int_equal(work_source(work, &memory, 5), SOURCE_FILE);
	picture_store_drop(work->disk);
	assert_int_equal(work_source(work, &both, 5), SOURCE_FILE);
}

static void test_without_pixels_it_is_the_file(void **state)
{
	struct work *work = *state;
	const struct job_recipe recipe = work_keeping(work, true);
	struct begun begun;
	struct image image;
	keep_all(work, &recipe);
	assert_int_equal(begin(work, &recipe, 4, false, &begun), 0);
	assert_int_equal(begun.input.source.kind, SOURCE_FILE);
	assert_true(begun.input.source.bytes_read > 3 * WIDTH * HEIGHT);
	assert_int_equal(decoder_read(work->kit.decoder, whole, &image, &begun.fault), 0);
	assert_formula(&image, whole, 4);
	end(work, &begun);
}

/* A file that has changed is read, and what was kept of it is forgotten. */
static void test_a_changed_file(void **state)
{
	struct work *work = *state;
	const struct job_recipe recipe = work_keeping(work, true);
	struct input input = {0};
	struct stage_reads reads = {0};
	keep_all(work, &recipe);
	work_put(work, "06.ppm", "P6 1 1 255\nabc", 14);
	source_read(&input, &recipe, 6, true, &reads);
	assert_int_equal(input.source.outcome, JOB_CHANGED);
	assert_int_equal(input.source.bytes_read, 0);
	assert_non_null(strstr(input.source.fault.text, "changed"));
	assert_false(picture_set_has(work->pictures, 6));
	assert_true(picture_set_has(work->pictures, 7));
	source_deinit(&input.source);
}

static void test_a_missing_file(void **state)
{
	struct work *work = *state;
	struct input input = {0};
	struct stage_reads reads = {0};
	char path[128];
	snprintf(path, sizeof(path), "%s/photos/a/02.ppm", work->path);
	assert_int_equal(unlink(path), 0);
	source_read(&input, &work->recipe, 2, true, &reads);
	assert_int_equal(input.source.outcome, JOB_READ);
	assert_true(input.source.fault.text[0]);
	/* The same input serves another sample. */
	source_read(&input, &work->recipe, 3, true, &reads);
	assert_int_equal(input.source.outcome, JOB_DONE);
	assert_int_equal(input.sample, 3);
	source_deinit(&input.source);
}

/* Spoil a byte of each file of the store, behind its header. */
static void spoil_store(const struct work *work)
{
	char path[64 + 8];
	snprintf(path, sizeof(path), "%s/kept", work->path);
	DIR *folder = opendir(path);
	assert_non_null(folder);
	for (struct dirent *entry; (entry = readdir(folder));) {
		if (!strstr(entry->d_name, ".rgb"))
			continue;
		int fd = openat(dirfd(folder), entry->d_name, O_RDWR | O_CLOEXEC);
		uint8_t byte;
		assert_int_equal(pread(fd, &byte, 1, PICTURE_FILE_BLOCK + 1000), 1);
		byte ^= 1;
		assert_int_equal(pwrite(fd, &byte, 1, PICTURE_FILE_BLOCK + 1000), 1);
		close(fd);
	}
	closedir(folder);
}

static void test_damage_on_the_disk(void **state)
{
	struct work *work = *state;
	const struct job_recipe recipe = work_keeping(work, true);
	struct slot_memory slot;
	struct begun begun;
	struct image image;
	work_use_no_memory(work);
	keep_all(work, &recipe);
	spoil_store(work);
	assert_int_equal(begin(work, &recipe, 1, true, &begun), 0);
	assert_int_equal(decoder_read(work->kit.decoder, whole, &image, &begun.fault),
			 DECODE_E_GONE);
	end(work, &begun);
	assert_int_equal(work->disk->damaged, 1);
	/* A job gets its pixels all the same. */
	for (uint64_t sample = 0; sample < SAMPLES; sample++) {
		memset(&slot, 0, sizeof(slot));
		assert_int_equal(work_make(work, &recipe, sample, &slot), JOB_DONE);
		assert_middle(slot.image, sample);
	}
	assert_int_equal(work->disk->damaged, SAMPLES);
}

/* What was found on the disk may be deleted before a worker opens it. */
static void test_gone_from_the_disk(void **state)
{
	struct work *work = *state;
	const struct job_recipe recipe = work_keeping(work, true);
	struct slot_memory slot;
	work_use_no_memory(work);
	keep_all(work, &recipe);
	struct job job = work_job(&recipe, 9, &slot);
	sample_fetch(&job);
	assert_int_equal(job.own.source.kind, SOURCE_STORED);
	picture_store_drop(work->disk);
	sample_make(&job, &work->kit);
	assert_int_equal(job.outcome, JOB_DONE);
	assert_true(job.decoded);
	assert_middle(slot.image, 9);
	job_free(&job);
}

/* With time to spare the memory is filled from the disk, and lent from then on. */
static void test_the_disk_fills_the_memory(void **state)
{
	struct work *work = *state;
	const struct job_recipe recipe = work_keeping(work, true);
	struct slot_memory slot;
	keep_all(work, &recipe);
	picture_set_drop(work->pictures);
	picture_cache_trim(&work->cache);
	work->kit.idle = true;
	assert_int_equal(work_make(work, &recipe, 8, &slot), JOB_DONE);
	assert_middle(slot.image, 8);
	assert_reads(work, &recipe, SOURCE_KEPT, 8);
	assert_int_equal(work_source(work, &recipe, 7), SOURCE_STORED);
}

/* A file of the same content at another path needs no decode. */
static void test_equal_content(void **state)
{
	struct work *work = *state;
	struct job_recipe recipe = work_keeping(work, true);
	struct slot_memory slot;
	keep_all(work, &recipe);
	work_open(work, NULL); /* nothing is known of its files */
	recipe = work_keeping(work, true);
	struct job job = work_job(&recipe, 2, &slot);
	work_run(work, &job);
	assert_int_equal(job.outcome, JOB_DONE);
	assert_int_equal(job.own.source.kind, SOURCE_STORED);
	assert_true(job.own.source.bytes_read > 0 && !job.decoded);
	assert_middle(slot.image, 2);
	job_free(&job);
}

/* No file's content selects a row for pixels that are no file: each row of the decoder's table
 * looks at content, and those rows are not in it. */
static void test_no_file_selects_pixels(void **state)
{
	static const char *const contents[] = {"kept", "stored", "array", "stokerP1",
					       "\x93NUMPY\x01"};
	struct work *work = *state;
	struct slot_memory slot;
	for (size_t i = 0; codecs[i]; i++) {
		assert_non_null(codecs[i]->accepts);
		assert_ptr_not_equal(codecs[i], &codec_kept);
		assert_ptr_not_equal(codecs[i], &codec_stored);
	}
	assert_null(codec_kept.accepts);
	assert_null(codec_stored.accepts);
	for (size_t i = 0; i < sizeof(contents) / sizeof(contents[0]); i++) {
		work_put(work, "00.ppm", contents[i], strlen(contents[i]));
		work_open(work, NULL);
		assert_int_equal(work_make(work, &work->recipe, 0, &slot), JOB_FORMAT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORK_CASE(test_a_file),
		WORK_CASE(test_a_picture_in_memory),
		WORK_CASE(test_a_picture_on_the_disk),
		WORK_CASE(test_an_array),
		WORK_CASE(test_memory_is_lent),
		WORK_CASE(test_what_is_lent_stays),
		WORK_CASE(test_the_order_of_sources),
		WORK_CASE(test_without_pixels_it_is_the_file),
		WORK_CASE(test_a_changed_file),
		WORK_CASE(test_a_missing_file),
		WORK_CASE(test_damage_on_the_disk),
		WORK_CASE(test_gone_from_the_disk),
		WORK_CASE(test_the_disk_fills_the_memory),
		WORK_CASE(test_equal_content),
		WORK_CASE(test_no_file_selects_pixels),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
