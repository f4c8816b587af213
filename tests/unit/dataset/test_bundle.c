// SPDX-License-Identifier: MIT
/* Bundles that are packed with gzip: cut or changed anywhere, also behind the file that was asked
 * for, each is refused or gives the same bytes; members behind each other are one content. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/test.h"

#define ZLIB_CONST
#include <zlib.h>

#include "dataset/arrays/bundle.h"

#define TAR_BLOCK 512
#define WANTED_SIZE TAR_BLOCK
/* The first of the two blocks that end an archive is the last of what is unpacked at a time. */
#define PART ((size_t)1 << 16)
#define OTHER_SIZE (2 * PART - 3 * TAR_BLOCK - WANTED_SIZE)
#define TAR_SIZE (2 * PART + TAR_BLOCK)
#define PACKED_MAX (2 * TAR_SIZE)
#define TRAILER 8

static uint8_t tar[TAR_SIZE], packed[PACKED_MAX];
static const uint8_t *const wanted = tar + TAR_BLOCK; /* its first file */
static size_t packed_size;
static char path[] = "/tmp/bundle-XXXXXX";

static void put_head(uint8_t *to, const char *name, size_t size)
{
	unsigned sum = 0;
	char *head = (char *)to;
	strcpy(head, name);
	strcpy(head + 100, "0000644");
	sprintf(head + 124, "%011o", (unsigned)size);
	memset(head + 148, ' ', 8);
	head[156] = '0';
	memcpy(head + 257,
	       "ustar\0"
	       "00",
	       8);
	for (int i = 0; i < TAR_BLOCK; i++)
		sum += to[i];
	sprintf(head + 148, "%06o", sum);
}

/* The size of the member. */
static size_t pack(const uint8_t *bytes, size_t size, uint8_t *to)
{
	z_stream stream = {.next_in = bytes, .avail_in = (uInt)size};
	assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, 0), Z_OK);
	stream.next_out = to;
	stream.avail_out = PACKED_MAX;
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	deflateEnd(&stream);
	return stream.total_out;
}

static int setup(void **state)
{
	(void)state;
	put_head(tar, "wanted", WANTED_SIZE);
	for (size_t i = 0; i < WANTED_SIZE; i++)
		tar[TAR_BLOCK + i] = (uint8_t)rand();
	put_head(tar + TAR_BLOCK + WANTED_SIZE, "other", OTHER_SIZE);
	packed_size = pack(tar, TAR_SIZE, packed);
	int fd = mkstemp(path);
	close(fd);
	return fd < 0;
}

static int teardown(void **state)
{
	(void)state;
	return unlink(path);
}

/* 0, if the file was found as it was, or a condition, with words. Two are asked for, or one. */
static int read_files(const struct bundle *bundle, size_t count)
{
	struct bundle_file files[] = {{.name = "wanted"}, {.name = "missing"}};
	struct fault fault = {""};
	int result = bundle_read(bundle, files, count, &fault);
	if (result) {
		assert_int_equal(result, BUNDLE_E_OPEN);
		assert_non_null(strstr(fault.text, path));
	} else {
		assert_true(files[0].found && !files[1].found);
		assert_int_equal(files[0].bytes.size, WANTED_SIZE);
		assert_memory_equal(files[0].bytes.data, wanted, WANTED_SIZE);
	}
	bundle_files_deinit(files, count);
	return result;
}

static int read_bytes(const uint8_t *bytes, size_t size)
{
	struct dataset_progress progress = {0};
	const struct bundle bundle = {.place = {.path = path, .reach = STORAGE_ANYWHERE},
				      .max_bytes = TAR_SIZE,
				      .progress = &progress};
	unlink(path); /* a file that is emptied and written again would go to the disk */
	FILE *to = fopen(path, "w");
	assert_non_null(to);
	assert_int_equal(fwrite(bytes, 1, size, to), size);
	fclose(to);
	int result = read_files(&bundle, 1);
	assert_int_equal(read_files(&bundle, 2), result);
	return result;
}

static void test_file_io(void **state)
{
	(void)state;
	assert_int_equal(read_bytes(tar, TAR_SIZE), 0);
	assert_int_equal(read_bytes(packed, packed_size), 0);
}

static void test_changed(void **state)
{
	unsigned passed = 0;
	(void)state;
	for (size_t at = 2; at < packed_size; at++) {
		packed[at] ^= 0x10;
		int result = read_bytes(packed, packed_size);
		packed[at] ^= 0x10;
		assert_true(result || at < packed_size - TRAILER);
		passed += !result;
	}
	/* Time, level and system in the head mean nothing; zeros may be copied from other zeros. */
	assert_true(passed <= 12);
}

static void test_cut(void **state)
{
	(void)state;
	for (size_t cut = 0; cut < packed_size; cut++)
		assert_int_equal(read_bytes(packed, cut), BUNDLE_E_OPEN);
}

static void test_members(void **state)
{
	static uint8_t bytes[2 * PACKED_MAX];
	(void)state;
	for (size_t first = 0; first <= TAR_SIZE; first += 3001) {
		size_t size = pack(tar, first, bytes);
		size += pack(tar + first, TAR_SIZE - first, bytes + size);
		memset(bytes + size, 0, 9);
		assert_int_equal(read_bytes(bytes, size), 0);
		assert_int_equal(read_bytes(bytes, size + 9), 0);
		bytes[size + 8] = 1;
		assert_int_equal(read_bytes(bytes, size + 9), BUNDLE_E_OPEN);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file_io),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_members),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
