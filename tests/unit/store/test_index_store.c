// SPDX-License-Identifier: MIT
/* The index store: what is saved is loaded again, by sample and stamp; a damaged or forged file
 * never does harm, even if its checksums are right; a directory that others may write is refused.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/owner.h"
#include "store/index_store.h"
#include "store/index_store_file.h"
#include "tests/unit/test.h"

#define SAMPLES 5000
#define HEADER 264
#define RECORD 48
#define RECORD_SIZE 40 /* where a record has the size of its index */
#define LIMIT ((uint64_t)8 << 20)

static char folder[64];
static struct index_store *index_store;
static struct seek_index_budget account;
static struct index_store_key key = {{{1, 2, 3}}, SAMPLES, OWNER_OF_ALL, {{4, 5, 6}}};
static struct index_store_until never = {UINT64_MAX};

static int setup(void **state)
{
	struct fault fault;
	(void)state;
	account = (struct seek_index_budget){.limit = LIMIT};
	strcpy(folder, "/tmp/stoker-index-store-XXXXXX");
	return mkdtemp(folder) ? index_store_open(&index_store, folder, LIMIT, &fault) : -1;
}

static int teardown(void **state)
{
	char command[128];
	(void)state;
	index_store_close(index_store);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

static struct seek_index_set *set_new(void)
{
	struct seek_index_set *set;
	assert_int_equal(seek_index_set_new(&set, &account, NULL, SAMPLES), 0);
	return set;
}

static struct stamp stamp_of(uint64_t sample)
{
	return (struct stamp){sample * 100, sample + 7};
}

/* An index of a small grey picture that covers no row. */
static size_t index_of(uint64_t sample, uint8_t *out)
{
	struct scan_frame frame = {.width = 8,
				   .height = 8 * (int32_t)(1 + sample % 9),
				   .components = 1,
				   .component = {{1, 1, 0, 0}}};
	struct buffer buffer = BUFFER_NULL;
	uint8_t data[64] = {(uint8_t)sample};
	assert_int_equal(scan_frame_complete(&frame), 0);
	assert_int_equal(seek_index_begin(&buffer, &frame, data, sizeof(data)), 0);
	size_t size = buffer.size;
	memcpy(out, buffer.data, size);
	buffer_deinit(&buffer);
	return size;
}

static void put(struct seek_index_set *set, uint64_t sample)
{
	_Alignas(8) uint8_t index[1024];
	struct stamp stamp = stamp_of(sample);
	assert_true(seek_index_set_put(set, sample, &stamp, index, index_of(sample, index)));
}

static bool has(struct seek_index_set *set, uint64_t sample)
{
	_Alignas(8) uint8_t index[1024];
	struct stamp stamp = stamp_of(sample);
	const uint8_t *bytes;
	size_t size, wanted = index_of(sample, index);
	if (seek_index_set_find(set, sample, &stamp, &bytes, &size) != SEEK_INDEX_SET_INDEX)
		return false;
	assert_int_equal(size, wanted);
	assert_memory_equal(bytes, index, sizeof(struct seek_index_header));
	return true;
}

static int load(struct seek_index_set *set, struct index_store_sum *sum)
{
	struct fault fault;
	*sum = (struct index_store_sum){0};
	return index_store_load(index_store, &key, set, &never, sum, &fault);
}

static void save(const struct seek_index_set *set)
{
	struct fault fault;
	struct index_store_sum sum;
	assert_int_equal(index_store_save(index_store, &key, set, &never, &sum, &fault), 0);
}

static void test_there_and_back(void **state)
{
	struct index_store_sum sum;
	(void)state;
	struct seek_index_set *first = set_new(), *second = set_new();
	assert_int_equal(load(first, &sum), INDEX_STORE_E_NONE);
	for (uint64_t i = 3; i < SAMPLES; i += 1 + i % 7)
		put(first, i);
	seek_index_set_refuse(first, 0, &(struct stamp){1, 2}, SEEK_INDEX_E_ODD);
	save(first);
	assert_int_equal(load(second, &sum), 0);
	uint64_t indexes = 0;
	for (uint64_t i = 0; i < SAMPLES; i++) {
		assert_int_equal(has(second, i), has(first, i));
		indexes += has(first, i);
	}
	assert_int_equal(sum.indexes, indexes);
	assert_int_equal(seek_index_set_changes(second), 0);
	seek_index_set_free(second);
	seek_index_set_free(first);
	assert_int_equal(account.bytes, 0);
}

/* An index is of one content, hashed with the secret in the file. */
static void test_stamps(void **state)
{
	struct index_store_sum sum;
	struct stamp stamp = stamp_of(4);
	const uint8_t *bytes;
	size_t size;
	(void)state;
	struct seek_index_set *set = set_new();
	put(set, 4);
	save(set);
	seek_index_set_free(set);
	set = set_new();
	const struct digest_secret secret = key.secret;
	assert_int_equal(digest_secret_make(&key.secret), 0); /* as in the next daemon */
	assert_memory_not_equal(&key.secret, &secret, sizeof(secret));
	assert_int_equal(load(set, &sum), 0);
	assert_memory_equal(&key.secret, &secret, sizeof(secret));
	for (int i = 0; i < 2; i++) {
		struct stamp other = stamp;
		other.size += i == 0;
		other.content += i == 1;
		assert_int_equal(seek_index_set_find(set, 4, &other, &bytes, &size),
				 SEEK_INDEX_SET_NONE);
	}
	assert_int_equal(seek_index_set_find(set, 4, &stamp, &bytes, &size), SEEK_INDEX_SET_INDEX);
	seek_index_set_free(set);
}

/* Indexes beyond the memory budget are not loaded. */
static void test_budget(void **state)
{
	struct index_store_sum sum;
	(void)state;
	struct seek_index_set *set = set_new();
	for (uint64_t i = 0; i < SAMPLES; i++)
		put(set, i);
	save(set);
	seek_index_set_free(set);
	account.limit = 100000;
	set = set_new();
	assert_int_equal(load(set, &sum), 0);
	assert_true(has(set, 0));
	assert_false(has(set, SAMPLES - 1));
	assert_true(account.bytes <= account.limit);
	seek_index_set_free(set);
}

static void test_time(void **state)
{
	struct fault fault;
	struct index_store_sum sum;
	struct index_store_until now = {clock_ns()};
	(void)state;
	struct seek_index_set *set = set_new();
	put(set, 4);
	assert_int_equal(index_store_save(index_store, &key, set, &now, &sum, &fault),
			 INDEX_STORE_E_STOPPED);
	assert_int_equal(load(set, &sum), INDEX_STORE_E_NONE);
	save(set);
	assert_int_equal(index_store_load(index_store, &key, set, &now, &sum, &fault),
			 INDEX_STORE_E_STOPPED);
	seek_index_set_free(set);
}

static void test_directories(void **state)
{
	struct fault fault;
	struct index_store *other;
	char path[96];
	(void)state;
	snprintf(path, sizeof(path), "%s/a/b", folder);
	assert_int_equal(index_store_open(&other, path, LIMIT, &fault), INDEX_STORE_E_SYSTEM);
	snprintf(path, sizeof(path), "%s/a", folder);
	assert_int_equal(index_store_open(&other, path, LIMIT, &fault), 0);
	index_store_close(other);
	assert_int_equal(chmod(path, 0720), 0);
	assert_int_equal(index_store_open(&other, path, LIMIT, &fault), INDEX_STORE_E_SYSTEM);
	assert_non_null(strstr(fault.text, "may be written by other users"));
	assert_int_equal(chmod(path, 0702), 0);
	assert_int_equal(index_store_open(&other, path, LIMIT, &fault), INDEX_STORE_E_SYSTEM);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(symlink("/proc/self/nothing", path), 0);
	assert_int_equal(index_store_open(&other, path, LIMIT, &fault), INDEX_STORE_E_SYSTEM);
}

/* --- bad files --- */

struct file {
	uint8_t bytes[4096];
	size_t size;
};

/* A valid file of two records. */
static struct file good(void)
{
	struct file file = {0};
	struct fault fault;
	struct index_store_sum sum;
	struct seek_index_set *set = set_new();
	int fd = open(folder, O_RDWR | O_TMPFILE, 0600);
	put(set, 2);
	put(set, 9);
	assert_int_equal(index_store_file_write(fd, &key, set, &never, &sum, &fault), 0);
	assert_int_equal(sum.indexes, 2);
	file.size = (size_t)pread(fd, file.bytes, sizeof(file.bytes), 0);
	assert_int_equal(file.size, sum.bytes);
	close(fd);
	seek_index_set_free(set);
	return file;
}

/* Correct all checksums, so that the checks behind them are reached. */
static void seal(struct file *file)
{
	struct digest sum;
	uint64_t size = file->size;
	memcpy(file->bytes + 48, &size, sizeof(size));
	sum = digest_of(file->bytes, HEADER - 16);
	memcpy(file->bytes + HEADER - 16, &sum, sizeof(sum));
	for (size_t at = HEADER; at + RECORD <= file->size;) {
		uint32_t bytes;
		memcpy(&bytes, file->bytes + at + RECORD_SIZE, sizeof(bytes));
		if (bytes > file->size - at - RECORD)
			return;
		sum = digest_of(file->bytes + at + 16, RECORD - 16 + bytes);
		memcpy(file->bytes + at, &sum, sizeof(sum));
		at += RECORD + bytes;
	}
}

/* Read a file into a set; `sum` says how many records were taken. */
static int read_back(const struct file *file, struct seek_index_set *set,
		     struct index_store_sum *sum)
{
	struct fault fault;
	int fd = open(folder, O_RDWR | O_TMPFILE, 0600);
	*sum = (struct index_store_sum){0};
	assert_int_equal(write(fd, file->bytes, file->size), file->size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	int r = index_store_file_read(fd, &key, set, &never, sum, &fault);
	close(fd);
	return r;
}

static void expect(const struct file *file, int result, uint64_t indexes)
{
	struct index_store_sum sum;
	struct seek_index_set *set = set_new();
	assert_int_equal(read_back(file, set, &sum), result);
	assert_int_equal(sum.indexes, indexes);
	assert_int_equal(has(set, 2), indexes > 0);
	assert_int_equal(has(set, 9), indexes > 1);
	seek_index_set_free(set);
}

static void test_every_cut_and_bit(void **state)
{
	const struct file file = good();
	(void)state;
	expect(&file, 0, 2);
	for (size_t size = 0; size < file.size; size++) {
		struct file cut = file;
		cut.size = size;
		expect(&cut, INDEX_STORE_E_DAMAGED, 0); /* the header knows the file's size */
	}
	for (size_t bit = 0; bit < file.size * 8; bit++) {
		struct index_store_sum sum;
		struct file bad = file;
		struct seek_index_set *set = set_new();
		bad.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_true(read_back(&bad, set, &sum) > 0);
		assert_true(sum.indexes == (bit / 8 < HEADER ? 0 : has(set, 2)));
		seek_index_set_free(set);
	}
}

static void test_lies_with_right_checksums(void **state)
{
	const struct file file = good();
	struct file bad;
	const uint64_t huge = UINT64_MAX, twice = 3;
	const uint32_t most = UINT32_MAX, none = 0;
	uint32_t first;
	(void)state;
	memcpy(&first, file.bytes + HEADER + RECORD_SIZE, sizeof(first));
	const size_t second = HEADER + RECORD + first;

	bad = file; /* more records than there are, fewer than there are */
	memcpy(bad.bytes + 40, &twice, sizeof(twice));
	seal(&bad);
	expect(&bad, INDEX_STORE_E_DAMAGED, 2);
	memcpy(bad.bytes + 40, &huge, sizeof(huge));
	seal(&bad);
	expect(&bad, INDEX_STORE_E_DAMAGED, 2);
	memset(bad.bytes + 40, 0, 8);
	seal(&bad);
	expect(&bad, INDEX_STORE_E_DAMAGED, 0);

	bad = file; /* a sample that the dataset does not have */
	memcpy(bad.bytes + second + 16, &huge, sizeof(huge));
	seal(&bad);
	expect(&bad, INDEX_STORE_E_DAMAGED, 1);
	memcpy(bad.bytes + second + 16, bad.bytes + HEADER + 16, 8); /* the same one twice */
	seal(&bad);
	expect(&bad, INDEX_STORE_E_DAMAGED, 1);

	bad = file; /* sizes */
	memcpy(bad.bytes + HEADER + RECORD_SIZE, &most, sizeof(most));
	seal(&bad);
	expect(&bad, INDEX_STORE_E_DAMAGED, 0);
	memcpy(bad.bytes + HEADER + RECORD_SIZE, &none, sizeof(none));
	seal(&bad);
	expect(&bad, INDEX_STORE_E_DAMAGED, 0);

	bad = file; /* other files: a version, an order of bytes, a dataset, a count */
	for (size_t at = 8; at < 40; at++) {
		bad = file;
		bad.bytes[at] ^= 1;
		seal(&bad);
		expect(&bad, INDEX_STORE_E_OTHER, 0);
	}
}

/* A damaged index under right checksums: the set refuses it, or it is found when it is used. */
static void test_bad_indexes(void **state)
{
	const struct file file = good();
	uint32_t first;
	(void)state;
	memcpy(&first, file.bytes + HEADER + RECORD_SIZE, sizeof(first));
	for (uint32_t at = 0; at < first; at++) {
		for (int value = 0; value < 256; value += 17) {
			struct index_store_sum sum;
			struct file bad = file;
			struct seek_index_set *set = set_new();
			bad.bytes[HEADER + RECORD + at] = (uint8_t)value;
			seal(&bad);
			assert_int_equal(read_back(&bad, set, &sum), 0);
			assert_true(has(set, 9));
			assert_true(account.bytes <= account.limit);
			seek_index_set_free(set);
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
		cmocka_unit_test_setup_teardown(test_lies_with_right_checksums, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_indexes, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
