// SPDX-License-Identifier: MIT
/* Whole pieces, where each system call does only a part. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file_io.h"
#include "tests/unit/test.h"

#define FIRST 5
#define SECOND ((size_t)1 << 20)

static uint8_t second[SECOND], read_back[FIRST + SECOND];

static void *drain(void *context)
{
	const int *fd = context;
	size_t done = 0;
	for (ssize_t got; (got = read(*fd, read_back + done, 3001)) > 0;)
		done += (size_t)got;
	assert_int_equal(done, FIRST + SECOND);
	return NULL;
}

/* A pipe takes what it has room for. */
static void test_write_in_parts(void **state)
{
	(void)state;
	int ends[2];
	char first[] = "first";
	pthread_t reader;
	for (size_t i = 0; i < SECOND; i++)
		second[i] = (uint8_t)(i * 7 + i / 251);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(pthread_create(&reader, NULL, drain, &ends[0]), 0);
	struct iovec parts[] = {{first, FIRST}, {NULL, 0}, {second, SECOND}};
	assert_int_equal(file_write_all(ends[1], parts, 3), 0);
	close(ends[1]);
	pthread_join(reader, NULL);
	close(ends[0]);
	assert_memory_equal(read_back, "first", FIRST);
	assert_memory_equal(read_back + FIRST, second, SECOND);
}

static void test_write_fails(void **state)
{
	(void)state;
	char byte = 1;
	struct iovec part = {&byte, 1};
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	assert_int_equal(file_write_all(full, &part, 1), -ENOSPC);
	close(full);
	assert_int_equal(file_write_all(full, &part, 1), -EBADF);
}

static void test_read(void **state)
{
	(void)state;
	char text[8] = "";
	int fd = memfd_create("whole", MFD_CLOEXEC);
	assert_int_equal(write(fd, "0123456789", 10), 10);
	assert_int_equal(file_read_all(fd, text, 4, 6), 0);
	assert_string_equal(text, "6789");
	assert_int_equal(file_read_all(fd, text, 5, 6), FILE_E_SHORT);
	assert_int_equal(file_read_all(fd, text, 0, 99), 0);
	close(fd);
	assert_int_equal(file_read_all(fd, text, 1, 0), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_write_in_parts),
		cmocka_unit_test(test_write_fails),
		cmocka_unit_test(test_read),
	};
	return cmocka_run_group_tests_name("whole", tests, NULL, NULL);
}
