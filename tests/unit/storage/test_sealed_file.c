// SPDX-License-Identifier: MIT
#include "storage/sealed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/test.h"

#define PATH "/memory/0123456789abcdef0123456789abcdef/list.jsonl"
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static int memory(const char *text, size_t size, int seals)
{
	int fd = memfd_create("list", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	assert_int_equal(pwrite(fd, text, strlen(text), 0), strlen(text));
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void test_path_and_seals(void **state)
{
	(void)state;
	static const char *const others[] = {"/memory/list.jsonl",
					     "/memory/0123456789abcdef0123456789abcde/list.jsonl",
					     "/memory/0123456789abcdef0123456789abcdef0/list.jsonl",
					     "/memory/0123456789abcdef0123456789abcdeF/list.jsonl",
					     "/memory/0123456789abcdef0123456789abcdef",
					     "/memorx",
					     ""};
	int sealed = memory("a", 1, SEALS), open = memory("a", 1, SEALS & ~F_SEAL_WRITE);
	int folder = openat(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(sealed_file_is(PATH, sealed));
	assert_false(sealed_file_is(PATH, open));
	assert_false(sealed_file_is(PATH, folder));
	assert_false(sealed_file_is(PATH, -1));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(sealed_file_is(others[i], sealed));
	close(sealed), close(open), close(folder);
}

/* By what they hold, and not by which they are. */
static void test_versions(void **state)
{
	(void)state;
	int one = memory("abc", 3, SEALS), same = memory("abc", 3, SEALS);
	int other = memory("abd", 3, SEALS), longer = memory("abc", 4, SEALS);
	int none = memory("", 0, SEALS);
	struct storage_version a, b;
	assert_int_equal(sealed_file_version(one, false, &a), 0);
	assert_int_equal(sealed_file_version(same, true, &b), 0);
	assert_true(storage_version_equal(&a, &b));
	assert_int_equal(a.size, 3);
	const int differ[] = {other, longer, none};
	for (size_t i = 0; i < sizeof(differ) / sizeof(*differ); i++) {
		assert_int_equal(sealed_file_version(differ[i], true, &b), 0);
		assert_false(storage_version_equal(&a, &b));
		close(differ[i]);
	}
	assert_int_equal(sealed_file_version(-1, true, &b), -EBADF);
	close(one), close(same);
}

static void test_large_ones_are_waited_for(void **state)
{
	(void)state;
	int large = memory("abc", 4 << 20, SEALS);
	struct storage_version version;
	assert_int_equal(sealed_file_version(large, false, &version), -EAGAIN);
	assert_int_equal(sealed_file_version(large, true, &version), 0);
	assert_int_equal(version.size, 4 << 20);
	close(large);
	/* Read by nobody: a hole costs whom it comes from nothing. */
	int hole = memory("abc", ((size_t)1 << 30) + 1, SEALS);
	assert_false(sealed_file_is(PATH, hole));
	close(hole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path_and_seals),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_large_ones_are_waited_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
