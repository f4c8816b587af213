// SPDX-License-Identifier: MIT
/* The shelf: what is saved is loaded again, by sample and stamp; no file, however bad and whatever
 * its sums say, gives more than nothing; a directory that is not ours alone is not taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "work/shelf.h"
#include "work/shelf_file.h"

#define SAMPLES 5000
#define HEADER 72
#define RECORD 56
#define LIMIT ((uint64_t)8 << 20)

static char folder[64];
static struct shelf *shelf;
static struct scans_account account;
static const struct shelf_key key = {{{1, 2, 3}}, SAMPLES};
static struct shelf_until never = {UINT64_MAX};

static int setup(void **state)
{
	struct fault fault;
	(void)state;
	account = (struct scans_account){.limit = LIMIT};
	strcpy(folder, "/tmp/stoker-shelf-XXXXXX");
	return mkdtemp(folder) ? shelf_open(&shelf, folder, LIMIT, &fault) : -1;
}

static int teardown(void **state)
{
	char command[128];
	(void)state;
	shelf_close(shelf);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

static struct scans *store(void)
{
	struct scans *scans;
	assert_int_equal(scans_new(&scans, &account, SAMPLES), 0);
	return scans;
}

static struct stamp stamp_of(uint64_t sample)
{
	return (struct stamp){sample * 100, (int64_t)sample - 70, sample + 7};
}

/* The beginning of an index of a small gray picture. */
static size_t index_of(uint64_t sample, uint8_t *out)
{
	struct scan_frame frame = {.width = 8,
				   .height = 8 * (int32_t)(1 + sample % 9),
				   .components = 1,
				   .component = {{1, 1, 0, 0}}};
	struct buffer buffer = BUFFER_NULL;
	uint8_t data[64] = {(uint8_t)sample};
	assert_int_equal(scan_frame_settle(&frame), 0);
	assert_int_equal(scan_index_begin(&buffer, &frame, data, sizeof(data)), 0);
	size_t size = buffer.size;
	memcpy(out, buffer.data, size);
	buffer_deinit(&buffer);
	return size;
}

static void put(struct scans *scans, uint64_t sample)
{
	_Alignas(8) uint8_t index[1024];
	struct stamp stamp = stamp_of(sample);
	assert_true(scans_put(scans, sample, &stamp, index, index_of(sample, index)));
}

static bool has(struct scans *scans, uint64_t sample)
{
	_Alignas(8) uint8_t index[1024];
	struct stamp stamp = stamp_of(sample);
	const uint8_t *bytes;
	size_t size, wanted = index_of(sample, index);
	if (scans_find(scans, sample, &stamp, &bytes, &size) != SCANS_INDEX)
		return false;
	assert_int_equal(size, wanted);
	assert_memory_equal(bytes, index, sizeof(struct scan_header));
	return true;
}

static int load(struct scans *scans, struct shelf_sum *sum)
{
	struct fault fault;
	*sum = (struct shelf_sum){0};
	return shelf_load(shelf, &key, scans, &never, sum, &fault);
}

static void save(const struct scans *scans)
{
	struct fault fault;
	struct shelf_sum sum;
	assert_int_equal(shelf_save(shelf, &key, scans, &never, &sum, &fault), 0);
}

static void test_there_and_back(void **state)
{
	struct shelf_sum sum;
	(void)state;
	struct scans *first = store(), *second = store();
	assert_int_equal(load(first, &sum), SHELF_E_NONE);
	for (uint64_t i = 3; i < SAMPLES; i += 1 + i % 7)
		put(first, i);
	scans_refuse(first, 0, &(struct stamp){1, 2, 3}, SCAN_E_ODD);
	save(first);
	assert_int_equal(load(second, &sum), 0);
	uint64_t indexes = 0;
	for (uint64_t i = 0; i < SAMPLES; i++) {
		assert_int_equal(has(second, i), has(first, i));
		indexes += has(first, i);
	}
	assert_int_equal(sum.indexes, indexes);
	assert_int_equal(scans_changes(second), 0);
	scans_free(second);
	scans_free(first);
	assert_int_equal(account.bytes, 0);
}

/* Another state of its file is another file. */
static void test_stamps(void **state)
{
	struct shelf_sum sum;
	struct stamp stamp = stamp_of(4);
	const uint8_t *bytes;
	size_t size;
	(void)state;
	struct scans *scans = store();
	put(scans, 4);
	save(scans);
	scans_free(scans);
	scans = store();
	assert_int_equal(load(scans, &sum), 0);
	for (int i = 0; i < 3; i++) {
		struct stamp other = stamp;
		other.size += i == 0;
		other.mtime_ns += i == 1;
		other.inode += i == 2;
		assert_int_equal(scans_find(scans, 4, &other, &bytes, &size), SCANS_NONE);
	}
	assert_int_equal(scans_find(scans, 4, &stamp, &bytes, &size), SCANS_INDEX);
	scans_free(scans);
}

/* What does not fit into memory stays out of it. */
static void test_budget(void **state)
{
	struct shelf_sum sum;
	(void)state;
	struct scans *scans = store();
	for (uint64_t i = 0; i < SAMPLES; i++)
		put(scans, i);
	save(scans);
	scans_free(scans);
	account.limit = 100000;
	scans = store();
	assert_int_equal(load(scans, &sum), 0);
	assert_true(has(scans, 0));
	assert_false(has(scans, SAMPLES - 1));
	assert_true(account.bytes <= account.limit);
	scans_free(scans);
}

static void test_time(void **state)
{
	struct fault fault;
	struct shelf_sum sum;
	struct shelf_until now = {clock_ns()};
	(void)state;
	struct scans *scans = store();
	put(scans, 4);
	assert_int_equal(shelf_save(shelf, &key, scans, &now, &sum, &fault), SHELF_E_STOPPED);
	assert_int_equal(load(scans, &sum), SHELF_E_NONE);
	save(scans);
	assert_int_equal(shelf_load(shelf, &key, scans, &now, &sum, &fault), SHELF_E_STOPPED);
	scans_free(scans);
}

static void test_directories(void **state)
{
	struct fault fault;
	struct shelf *other;
	char path[96];
	(void)state;
	snprintf(path, sizeof(path), "%s/a/b", folder);
	assert_int_equal(shelf_open(&other, path, LIMIT, &fault), SHELF_E_SYSTEM);
	snprintf(path, sizeof(path), "%s/a", folder);
	assert_int_equal(shelf_open(&other, path, LIMIT, &fault), 0);
	shelf_close(other);
	assert_int_equal(chmod(path, 0720), 0);
	assert_int_equal(shelf_open(&other, path, LIMIT, &fault), SHELF_E_SYSTEM);
	assert_non_null(strstr(fault.text, "others may write"));
	assert_int_equal(chmod(path, 0702), 0);
	assert_int_equal(shelf_open(&other, path, LIMIT, &fault), SHELF_E_SYSTEM);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(symlink("/proc/self/nothing", path), 0);
	assert_int_equal(shelf_open(&other, path, LIMIT, &fault), SHELF_E_SYSTEM);
}

/* --- bad files --- */

struct file {
	uint8_t bytes[4096];
	size_t size;
};

/* Two records, sums and all. */
static struct file good(void)
{
	struct file file = {0};
	struct fault fault;
	struct shelf_sum sum;
	struct scans *scans = store();
	int fd = open(folder, O_RDWR | O_TMPFILE, 0600);
	put(scans, 2);
	put(scans, 9);
	assert_int_equal(shelf_file_write(fd, &key, scans, &never, &sum, &fault), 0);
	assert_int_equal(sum.indexes, 2);
	file.size = (size_t)pread(fd, file.bytes, sizeof(file.bytes), 0);
	assert_int_equal(file.size, sum.bytes);
	close(fd);
	scans_free(scans);
	return file;
}

/* Make all sums right again, so that what is behind them is looked at. */
static void seal(struct file *file)
{
	struct digest sum;
	uint64_t size = file->size;
	memcpy(file->bytes + 48, &size, sizeof(size));
	sum = digest_of(file->bytes, HEADER - 16);
	memcpy(file->bytes + HEADER - 16, &sum, sizeof(sum));
	for (size_t at = HEADER; at + RECORD <= file->size;) {
		uint32_t bytes;
		memcpy(&bytes, file->bytes + at + 48, sizeof(bytes));
		if (bytes > file->size - at - RECORD)
			return;
		sum = digest_of(file->bytes + at + 16, RECORD - 16 + bytes);
		memcpy(file->bytes + at, &sum, sizeof(sum));
		at += RECORD + bytes;
	}
}

/* What comes of reading it; the sums say how many records counted. */
static int read_back(const struct file *file, struct scans *scans, struct shelf_sum *sum)
{
	struct fault fault;
	int fd = open(folder, O_RDWR | O_TMPFILE, 0600);
	*sum = (struct shelf_sum){0};
	assert_int_equal(write(fd, file->bytes, file->size), file->size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	int r = shelf_file_read(fd, &key, scans, &never, sum, &fault);
	close(fd);
	return r;
}

static void expect(const struct file *file, int result, uint64_t indexes)
{
	struct shelf_sum sum;
	struct scans *scans = store();
	assert_int_equal(read_back(file, scans, &sum), result);
	assert_int_equal(sum.indexes, indexes);
	assert_int_equal(has(scans, 2), indexes > 0);
	assert_int_equal(has(scans, 9), indexes > 1);
	scans_free(scans);
}

static void test_every_cut_and_bit(void **state)
{
	const struct file file = good();
	(void)state;
	expect(&file, 0, 2);
	for (size_t size = 0; size < file.size; size++) {
		struct file cut = file;
		cut.size = size;
		expect(&cut, SHELF_E_DAMAGED, 0); /* the header knows the file's size */
	}
	for (size_t bit = 0; bit < file.size * 8; bit++) {
		struct shelf_sum sum;
		struct file bad = file;
		struct scans *scans = store();
		bad.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_true(read_back(&bad, scans, &sum) > 0);
		assert_true(sum.indexes == (bit / 8 < HEADER ? 0 : has(scans, 2)));
		scans_free(scans);
	}
}

static void test_lies_with_right_sums(void **state)
{
	const struct file file = good();
	struct file bad;
	const uint64_t huge = UINT64_MAX, twice = 3;
	const uint32_t most = UINT32_MAX, none = 0;
	uint32_t first;
	(void)state;
	memcpy(&first, file.bytes + HEADER + 48, sizeof(first));
	const size_t second = HEADER + RECORD + first;

	bad = file; /* more records than there are, fewer than there are */
	memcpy(bad.bytes + 40, &twice, sizeof(twice));
	seal(&bad);
	expect(&bad, SHELF_E_DAMAGED, 2);
	memcpy(bad.bytes + 40, &huge, sizeof(huge));
	seal(&bad);
	expect(&bad, SHELF_E_DAMAGED, 2);
	memset(bad.bytes + 40, 0, 8);
	seal(&bad);
	expect(&bad, SHELF_E_DAMAGED, 0);

	bad = file; /* a sample that the dataset does not have */
	memcpy(bad.bytes + second + 16, &huge, sizeof(huge));
	seal(&bad);
	expect(&bad, SHELF_E_DAMAGED, 1);
	memcpy(bad.bytes + second + 16, bad.bytes + HEADER + 16, 8); /* the same one twice */
	seal(&bad);
	expect(&bad, SHELF_E_DAMAGED, 1);

	bad = file; /* sizes */
	memcpy(bad.bytes + HEADER + 48, &most, sizeof(most));
	seal(&bad);
	expect(&bad, SHELF_E_DAMAGED, 0);
	memcpy(bad.bytes + HEADER + 48, &none, sizeof(none));
	seal(&bad);
	expect(&bad, SHELF_E_DAMAGED, 0);

	bad = file; /* other files: a version, an order of bytes, a dataset, a count */
	for (size_t at = 8; at < 40; at++) {
		bad = file;
		bad.bytes[at] ^= 1;
		seal(&bad);
		expect(&bad, SHELF_E_OTHER, 0);
	}
}

/* An index that is none, under right sums: the store does not take it, or whoever uses it finds
 * out. */
static void test_bad_indexes(void **state)
{
	const struct file file = good();
	uint32_t first;
	(void)state;
	memcpy(&first, file.bytes + HEADER + 48, sizeof(first));
	for (uint32_t at = 0; at < first; at++) {
		for (int value = 0; value < 256; value += 17) {
			struct shelf_sum sum;
			struct file bad = file;
			struct scans *scans = store();
			bad.bytes[HEADER + RECORD + at] = (uint8_t)value;
			seal(&bad);
			assert_int_equal(read_back(&bad, scans, &sum), 0);
			assert_true(has(scans, 9));
			assert_true(account.bytes <= account.limit);
			scans_free(scans);
		}
	}
	assert_int_equal(account.bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_there_and_back, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stamps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_budget, setup, teardown),
		cmocka_unit_test_setup_teardown(test_time, setup, teardown),
		cmocka_unit_test_setup_teardown(test_directories, setup, teardown),
		cmocka_unit_test_setup_teardown(test_every_cut_and_bit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lies_with_right_sums, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_indexes, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
