// SPDX-License-Identifier: MIT
/* The index directory: who has most makes room, the least recently used first; nobody loses files
 * to one who has more. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/owner.h"
#include "store/index_dir.h"
#include "tests/unit/test.h"

#define BLOCK 4096

static char folder[64];
static int directory;

static int setup(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/stoker-index-XXXXXX");
	directory = mkdtemp(folder) ? open(folder, O_RDONLY | O_DIRECTORY) : -1;
	return directory < 0;
}

static int teardown(void **state)
{
	char command[128];
	(void)state;
	close(directory);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

/* A file of so many bytes that was used so many seconds ago. */
static void put(const char *name, size_t bytes, int ago)
{
	int fd = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	struct timespec times[2];
	assert_true(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
	clock_gettime(CLOCK_REALTIME, &times[0]);
	times[0].tv_sec -= ago;
	times[1] = times[0];
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

static int is_there(const char *name)
{
	return faccessat(directory, name, F_OK, 0) == 0;
}

static void test_the_oldest_of_one_owner_goes(void **state)
{
	(void)state;
	put("a.index", 1, 30);
	put("b.shards", BLOCK, 10);
	put("c.fit", 1, 20);
	put("other", 1 << 20, 40);
	index_dir_trim(directory, "", 3 * BLOCK, "");
	assert_true(is_there("a.index"));
	index_dir_trim(directory, "", 2 * BLOCK, "");
	assert_false(is_there("a.index"));
	index_dir_trim(directory, "", BLOCK, "");
	assert_false(is_there("c.fit"));
	index_dir_trim(directory, "", 0, "b.shards"); /* the one that was written just now */
	assert_true(is_there("b.shards"));
	index_dir_trim(directory, "", 0, "");
	assert_false(is_there("b.shards"));
	assert_true(is_there("other"));
}

/* Alice has two old files, Bob many new ones, the daemon's own user one that is older still. */
static void test_the_owner_with_most_makes_room(void **state)
{
	char name[32];
	(void)state;
	put("x.index", 1, 9000);
	put("a@1000.index", 1, 8000);
	put("b@1000.shards", 1, 7000);
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "%d@1001.%s", i, i % 2 ? "index" : "shards");
		put(name, 1, 100 - i);
	}
	index_dir_trim(directory, "", 8 * BLOCK, "19@1001.index");
	assert_true(is_there("x.index") && is_there("a@1000.index") && is_there("b@1000.shards"));
	assert_false(is_there("14@1001.shards"));
	assert_true(is_there("15@1001.index") && is_there("19@1001.index"));

	/* One large file of his: he has most by bytes, and that one goes, though it is the newest.
	 */
	put("20@1001.index", 6 * BLOCK, 0);
	index_dir_trim(directory, "", 8 * BLOCK, "20@1001.index");
	assert_true(is_there("x.index") && is_there("a@1000.index") && is_there("b@1000.shards"));
	assert_false(is_there("19@1001.index"));
	put("21@1001.index", 9 * BLOCK, 0);
	index_dir_trim(directory, "", 8 * BLOCK, "21@1001.index");
	assert_true(is_there("x.index") && is_there("a@1000.index") && is_there("b@1000.shards"));
	assert_false(is_there("21@1001.index"));
}

/* What an owner has is the sum of its files, whenever they were used. */
static void test_small_files_add_up(void **state)
{
	(void)state;
	put("a@1001.index", 1, 40);
	put("a@1000.index", 2 * BLOCK, 30);
	put("b@1001.index", 1, 20);
	put("b@1000.index", 1, 15);
	put("c@1001.index", 2 * BLOCK, 10);
	index_dir_trim(directory, "", 6 * BLOCK, "");
	assert_false(is_there("a@1001.index"));
	assert_true(is_there("a@1000.index") && is_there("c@1001.index"));
}

/* Of one ending: a user's statistics. */
static void test_one_ending(void **state)
{
	(void)state;
	put("a@7.fit", 1, 30);
	put("b@7.fit", 1, 20);
	put("a@77.fit", 1, 40);
	put("a.fit", 1, 40);
	put("a@7.index", 1, 40);
	index_dir_trim(directory, "@7.fit", BLOCK, "b@7.fit");
	assert_false(is_there("a@7.fit"));
	assert_true(is_there("b@7.fit") && is_there("a@77.fit") && is_there("a.fit"));
	assert_true(is_there("a@7.index"));
}

/* What a process did not finish goes if it is old; younger ones may be under way. */
static void test_unfinished(void **state)
{
	(void)state;
	put("a.0123.new", 1, 4000);
	put("b.0123.new", 1, 10);
	index_dir_trim(directory, "", BLOCK, "");
	assert_false(is_there("a.0123.new"));
	assert_true(is_there("b.0123.new"));
}

static void test_owners(void **state)
{
	char mark[OWNER_MARK_MAX];
	(void)state;
	assert_int_equal(owner_of(0), OWNER_OF_ALL);
	assert_int_equal(owner_of(geteuid()), OWNER_OF_ALL);
	assert_int_equal(owner_of(geteuid() + 1), geteuid() + 1);
	owner_mark(mark, UINT32_MAX - 1);
	assert_string_equal(mark, "@4294967294");
	assert_int_equal(owner_of_file("0123@4294967294.index"), UINT32_MAX - 1);
	owner_mark(mark, OWNER_OF_ALL);
	assert_string_equal(mark, "");
	assert_int_equal(owner_of_file("0123.index"), OWNER_OF_ALL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_the_oldest_of_one_owner_goes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_owner_with_most_makes_room, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_small_files_add_up, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_ending, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unfinished, setup, teardown),
		cmocka_unit_test(test_owners),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
