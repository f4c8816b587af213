// SPDX-License-Identifier: MIT
/* The sizes of a dataset's pictures: of the first bytes of each file, kept, and seen to change. */
#include "tests/unit/work/fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "storage/storage.h"
#include "survey/kept_sizes.h"
#include "survey/picture_sizes.h"

static struct decode_limits limits;

struct found {
	int result;
	uint64_t read; /* headers */
	struct image_size size[SAMPLES];
	struct fault fault;
};

static struct keep_file keep_of(const struct work *work)
{
	const struct kept_sizes_key key = {
		.dataset = dataset_identity(work->dataset), .path = work->path, .limits = &limits};
	return kept_sizes_file(work->path, 7, &key);
}

static struct found find(const struct work *work, bool exif, const struct keep_file *keep,
			 uint64_t patience_ns)
{
	struct picture_sizes_progress progress = {0};
	const atomic_bool stopping = false;
	const struct picture_sizes_spec spec = {
		.dataset = work->dataset,
		.limits = &limits,
		.max_bytes = 1 << 20,
		.exif = exif,
		.threads = 3,
		.patience_ns = patience_ns,
		.keep = keep,
		.stopping = &stopping,
		.progress = &progress,
	};
	struct found found = {0};
	assert_int_equal(dataset_count(work->dataset), SAMPLES);
	found.result = picture_sizes_find(found.size, &spec, &found.fault);
	found.read = atomic_load(&progress.read);
	return found;
}

static bool is_size(struct image_size size, int32_t width, int32_t height)
{
	return size.width == width && size.height == height;
}

/* Name of the file of a sample, and of the file of sizes. */
static void name_of(const struct work *work, uint64_t sample, char out[256])
{
	char name[64];
	dataset_path(work->dataset, sample, name, sizeof(name));
	snprintf(out, 256, "%s/photos/%s", work->path, name);
}

static void kept_name(const struct keep_file *keep, char out[256])
{
	char hex[33];
	digest_hex(&keep->name, hex);
	snprintf(out, 256, "%s/%s@7.sizes", keep->folder, hex);
}

static void test_kept(void **state)
{
	const struct work *work = *state;
	const struct keep_file keep = keep_of(work);
	char path[256];
	struct found found = find(work, false, NULL, 0);
	assert_int_equal(found.read, SAMPLES);
	for (unsigned i = 0; i < 2; i++) { /* the second time none is read */
		found = find(work, false, &keep, 0);
		assert_int_equal(found.result, 0);
		assert_int_equal(found.read, i == 0 ? SAMPLES : 0);
		for (unsigned j = 0; j < SAMPLES; j++)
			assert_true(is_size(found.size[j], WIDTH, HEIGHT));
	}
	name_of(work, 3, path);
	assert_int_equal(chmod(path, 0640), 0); /* another version, for all that can be told */
	found = find(work, false, &keep, 0);
	assert_int_equal(found.read, 1);
	assert_int_equal(find(work, false, &keep, 0).read, 0);
}

static void test_other_keys_are_other_files(void **state)
{
	const struct work *work = *state;
	struct kept_sizes_key key = {
		.dataset = dataset_identity(work->dataset), .path = work->path, .limits = &limits};
	struct decode_limits smaller = limits;
	struct keep_file first = kept_sizes_file("/", 7, &key), other[5];
	smaller.max_pixels--;
	key.exif = true;
	other[0] = kept_sizes_file("/", 7, &key);
	key.exif = false;
	key.form.type = IMAGE_UINT16;
	other[1] = kept_sizes_file("/", 7, &key);
	key.form.type = IMAGE_BYTES;
	key.path = "/elsewhere";
	other[2] = kept_sizes_file("/", 7, &key);
	key.path = work->path;
	key.limits = &smaller;
	other[3] = kept_sizes_file("/", 7, &key);
	key.limits = &limits;
	key.dataset.bytes[0] ^= 1;
	other[4] = kept_sizes_file("/", 7, &key);
	for (unsigned i = 0; i < 5; i++)
		assert_false(digest_equal(&first.name, &other[i].name));
}

static void test_damaged_files_are_left_out(void **state)
{
	const struct work *work = *state;
	const struct keep_file keep = keep_of(work);
	char path[256];
	kept_name(&keep, path);
	for (unsigned way = 0; way < 4; way++) {
		struct stat stat;
		uint8_t byte = 0;
		assert_int_equal(find(work, false, &keep, 0).result, 0);
		int fd = open(path, O_RDWR | O_CLOEXEC);
		assert_true(fd >= 0 && fstat(fd, &stat) == 0);
		assert_int_equal(stat.st_mode & 0777, 0600);
		const off_t places[] = {3, 9, stat.st_size / 2}; /* magic, version, a size */
		if (way == 3) {
			assert_int_equal(ftruncate(fd, stat.st_size - 1), 0);
		} else {
			assert_int_equal(pread(fd, &byte, 1, places[way]), 1);
			byte ^= 1;
			assert_int_equal(pwrite(fd, &byte, 1, places[way]), 1);
		}
		close(fd);
		struct found found = find(work, false, &keep, 0);
		assert_int_equal(found.read, SAMPLES);
		assert_true(is_size(found.size[1], WIDTH, HEIGHT));
	}
}

static void test_a_file_that_says_other_numbers(void **state)
{
	const struct work *work = *state;
	const struct keep_file keep = keep_of(work);
	struct kept_size sizes[SAMPLES] = {{1, {-1, 5}}};
	struct kept_sizes kept = {SAMPLES, sizes, NULL}, read;
	for (unsigned way = 0; way < 3; way++) {
		sizes[0].size = way == 0 ? (struct image_size){-1, 5} : (struct image_size){0, 5};
		sizes[0].size = way == 2 ? (struct image_size){5, 6} : sizes[0].size;
		assert_true(kept_sizes_save(&kept, &keep));
		assert_int_equal(kept_sizes_load(&read, &keep, SAMPLES), 0);
		assert_int_equal(read.sizes[0].mark, way == 2);
		kept_sizes_deinit(&read);
	}
	assert_int_equal(kept_sizes_load(&read, &keep, SAMPLES - 1), 0); /* of another dataset */
	assert_int_equal(read.sizes[0].mark, 0);
	kept_sizes_deinit(&read);
	kept_sizes_deinit(&read);
}

/* One that is larger than a file may be has a size all the same: only its head is read. */
static void test_the_head_is_enough(void **state)
{
	struct work *work = *state;
	char path[256];
	name_of(work, 2, path);
	assert_int_equal(truncate(path, 1 << 21), 0);
	work_open(work, NULL);
	struct found found = find(work, false, NULL, 0);
	assert_true(is_size(found.size[2], WIDTH, HEIGHT));
	found = find(work, true, NULL, 0); /* what turns it may stand behind */
	assert_true(is_size(found.size[2], 0, 0));
	assert_true(is_size(found.size[3], WIDTH, HEIGHT));
}

static void test_a_header_that_is_longer(void **state)
{
	struct work *work = *state;
	char path[256];
	name_of(work, 2, path);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs("P6\n#", file);
	for (uint64_t i = 0; i < 2 * STORAGE_HEAD_BYTES; i++)
		fputc('x', file);
	fputs("\n7 9\n255\n", file);
	for (int i = 0; i < 7 * 9 * 3; i++)
		fputc(i, file);
	assert_int_equal(fclose(file), 0);
	work_open(work, NULL);
	assert_true(is_size(find(work, false, NULL, 0).size[2], 7, 9));
}

static void test_what_cannot_be_read_has_no_size(void **state)
{
	struct work *work = *state;
	const struct keep_file keep = keep_of(work);
	char path[256];
	work_put(work, "04.ppm", "no picture", 10);
	name_of(work, 5, path);
	assert_int_equal(truncate(path, 0), 0);
	work_open(work, NULL);
	for (unsigned i = 0; i < 2; i++) { /* of an empty file nothing is kept */
		struct found found = find(work, false, &keep, 0);
		assert_int_equal(found.read, i == 0 ? SAMPLES : 1);
		assert_true(is_size(found.size[4], 0, 0) && is_size(found.size[5], 0, 0));
		assert_true(is_size(found.size[6], WIDTH, HEIGHT));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORK_CASE(test_kept),
		WORK_CASE(test_other_keys_are_other_files),
		WORK_CASE(test_damaged_files_are_left_out),
		WORK_CASE(test_a_file_that_says_other_numbers),
		WORK_CASE(test_the_head_is_enough),
		WORK_CASE(test_a_header_that_is_longer),
		WORK_CASE(test_what_cannot_be_read_has_no_size),
	};
	limits = DECODE_LIMITS_DEFAULT;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
