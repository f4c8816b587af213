// SPDX-License-Identifier: MIT
/* The cache directory: made for its user alone, one owner at a time, refused if others may write.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/cache_dir.h"
#include "tests/unit/test.h"

static char home[64], path[80];

static int setup(void **state)
{
	(void)state;
	strcpy(home, "/tmp/stoker-cache-dir-XXXXXX");
	if (!mkdtemp(home))
		return -1;
	snprintf(path, sizeof(path), "%s/cache", home);
	return 0;
}

static int teardown(void **state)
{
	char command[128];
	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", home);
	return system(command);
}

static mode_t mode_of(int fd)
{
	struct stat stat;
	assert_int_equal(fstat(fd, &stat), 0);
	return stat.st_mode & 07777;
}

static void test_made(void **state)
{
	(void)state;
	struct cache_dir dir;
	struct fault fault;
	char text[128] = "", name[128];
	int fd;
	assert_int_equal(cache_dir_open(&dir, path, &fault), 0);
	assert_int_equal(mode_of(dir.fd), 0700);
	assert_int_equal(cache_dir_folder(&dir, "objects", &fd, &fault), 0);
	assert_int_equal(mode_of(fd), 0700);
	close(fd);
	assert_int_equal(cache_dir_folder(&dir, "objects", &fd, &fault), 0); /* it is there */
	close(fd);
	snprintf(name, sizeof(name), "%s/CACHEDIR.TAG", path);
	FILE *file = fopen(name, "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_string_equal(text, "Signature: 8a477f597d28d172789f06886806bc55\n");
	cache_dir_close(&dir);
	cache_dir_close(&dir);
}

static void test_one_owner(void **state)
{
	(void)state;
	struct cache_dir first, second = CACHE_DIR_NULL;
	struct fault fault;
	assert_int_equal(cache_dir_open(&first, path, &fault), 0);
	assert_int_equal(cache_dir_open(&second, path, &fault), CACHE_DIR_E_BUSY);
	assert_non_null(strstr(fault.text, "another stokerd uses"));
	cache_dir_close(&first);
	assert_int_equal(cache_dir_open(&second, path, &fault), 0);
	cache_dir_close(&second);
}

static void test_open_to_others(void **state)
{
	(void)state;
	struct cache_dir dir = CACHE_DIR_NULL;
	struct fault fault;
	int fd;
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chmod(path, 0770), 0);
	assert_int_equal(cache_dir_open(&dir, path, &fault), CACHE_DIR_E_SYSTEM);
	assert_non_null(strstr(fault.text, "chmod go-w"));
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(cache_dir_open(&dir, path, &fault), 0);
	assert_int_equal(mkdirat(dir.fd, "objects", 0755), 0);
	assert_int_equal(fchmodat(dir.fd, "objects", 0755, 0), 0);
	assert_int_equal(cache_dir_folder(&dir, "objects", &fd, &fault), CACHE_DIR_E_SYSTEM);
	char said[128];
	snprintf(said, sizeof(said), "chmod go= %s/objects", path);
	assert_non_null(strstr(fault.text, said));
	assert_int_equal(symlinkat("/tmp", dir.fd, "decoded"), 0);
	assert_int_equal(cache_dir_folder(&dir, "decoded", &fd, &fault), CACHE_DIR_E_SYSTEM);
	cache_dir_close(&dir);
}

static void test_no_place(void **state)
{
	(void)state;
	struct cache_dir dir = CACHE_DIR_NULL;
	struct fault fault;
	snprintf(path, sizeof(path), "%s/lost/cache", home);
	assert_int_equal(cache_dir_open(&dir, path, &fault), CACHE_DIR_E_SYSTEM);
	assert_non_null(strstr(fault.text, "No such file or directory"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_made, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_owner, setup, teardown),
		cmocka_unit_test_setup_teardown(test_open_to_others, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_place, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
