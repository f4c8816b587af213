// SPDX-License-Identifier: MIT
/* A stage: what is kept is found again, also by the next one, in its version alone; what does not
 * fit gives way as it should; a file that is damaged is none. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "fixture.h"
#include "tests/unit/test.h"

/* How many files there are, and the first one's name. */
static size_t files(char name[256])
{
	char pattern[128];
	glob_t found_files;
	snprintf(pattern, sizeof(pattern), "%s/*/*/*", folder);
	int result = glob(pattern, 0, NULL, &found_files);
	size_t count = result == 0 ? found_files.gl_pathc : 0;
	if (count && name)
		snprintf(name, 256, "%s", found_files.gl_pathv[0]);
	globfree(&found_files);
	return count;
}

static void test_kept(void **state)
{
	(void)state;
	begin(100 * BLOCK);
	struct stage_set *set = set_new(1);
	assert_false(found(set, "a", 7, 1));
	keep(set, "a", 7, 1);
	keep(set, "a", 7, 1);
	assert_true(found(set, "a", 7, 1));
	assert_false(found(set, "a", 7, 2));
	keep(set, "a", 7, 2);
	assert_true(found(set, "a", 7, 1) && found(set, "a", 7, 2));
	assert_int_equal(files(NULL), 2);
	assert_int_equal(stage_set_totals(set).items, 2);
	stage_set_close(set);
	stage_free(stage);
	begin(100 * BLOCK); /* the next daemon */
	set = set_new(1);
	assert_int_equal(stage_totals(stage).bytes, 2 * BLOCK);
	assert_true(found(set, "a", 7, 1) && found(set, "a", 7, 2));
	assert_false(found(set, "a", 8, 1));
	assert_true(stage_has_work(stage));
	stage_drop(stage);
	assert_true(stage_has_work(stage));
	stage_trim(stage);
	assert_false(stage_has_work(stage));
	assert_int_equal(files(NULL), 0);
	assert_int_equal(stage_totals(stage).bytes, 0);
	stage_set_close(set);
	stage_free(stage);
}

/* The parts of an origin's folder are far from each other on ext4. */
static void test_spread(void **state)
{
	(void)state;
	char pattern[128];
	glob_t found_folders;
	struct statfs system;
	int flags;
	begin(10 * BLOCK);
	struct stage_set *set = set_new(1);
	keep(set, "a", 1, 1);
	snprintf(pattern, sizeof(pattern), "%s/????????????????", folder);
	assert_int_equal(glob(pattern, 0, NULL, &found_folders), 0);
	int fd = open(found_folders.gl_pathv[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	globfree(&found_folders);
	stage_set_close(set);
	stage_free(stage);
	assert_true(fd >= 0);
	assert_int_equal(fstatfs(fd, &system), 0);
	int read = ioctl(fd, FS_IOC_GETFLAGS, &flags);
	close(fd);
	if (system.f_type != EXT4_SUPER_MAGIC)
		skip();
	assert_int_equal(read, 0);
	assert_true(flags & FS_TOPDIR_FL);
}

/* What nobody has open goes first; what another user has beyond half goes then; of one stream
 * nothing does. */
static void test_gives_way(void **state)
{
	(void)state;
	begin(10 * BLOCK);
	struct stage_set *old = set_new(1);
	for (uint64_t i = 0; i < 10; i++)
		keep(old, "old", i, 1);
	courses_set(stage_set_courses(old), &(struct course_order){.count = 10}, 1, SECOND);
	stage_set_close(old);
	assert_int_equal(stage_set_courses(old)->count, 0); /* it stays for its items alone */
	struct stage_set *first = set_new(1);
	for (uint64_t i = 0; i < 12; i++)
		keep(first, "first", i, 1);
	for (uint64_t i = 0; i < 12; i++)
		assert_true(found(first, "first", i, 1) == (i < 10));
	struct stage_set *second = set_new(2);
	for (uint64_t i = 0; i < 10; i++)
		keep(second, "second", i, 1);
	assert_int_equal(stage_set_totals(first).items, 5);
	assert_int_equal(stage_set_totals(second).items, 5);
	assert_int_equal(stage_totals(stage).bytes, 10 * BLOCK);
	assert_int_equal(files(NULL), 10);
	stage_set_limits(stage, &(struct stage_limits){3 * BLOCK, 0});
	stage_trim(stage);
	assert_int_equal(files(NULL), 3);
	stage_set_limits(stage, &(struct stage_limits){3 * BLOCK, UINT64_MAX});
	stage_trim(stage);
	assert_int_equal(files(NULL), 0); /* nothing is free */
	stage_set_close(first);
	stage_set_close(second);
	stage_free(stage);
}

/* What would make room, but not enough of it, stays. */
static void test_nothing_goes_for_what_does_not_fit(void **state)
{
	(void)state;
	begin(10 * BLOCK);
	struct stage_set *old = set_new(1);
	keep(old, "old", 0, 1);
	stage_set_close(old);
	struct stage_set *set = set_new(1);
	const struct stage_use use = {set, 20};
	for (uint64_t i = 0; i < 9; i++)
		keep(set, "new", i, 1);
	struct stage_item item = item_of("new", 20, 1), before = item_of("old", 0, 1);
	struct buffer bytes = BUFFER_NULL;
	assert_int_equal(buffer_reserve(&bytes, BLOCK), 0);
	bytes.size = BLOCK; /* two blocks, with its head */
	memset(bytes.data, 1, bytes.size);
	stage_keep(&use, &item, &bytes, SECOND);
	assert_false(stage_has(stage, &item.object));
	assert_true(stage_has(stage, &before.object));
	assert_int_equal(stage_totals(stage).replaced, 0);
	assert_int_equal(stage_totals(stage).full, 1);
	keep(set, "new", 9, 1);
	assert_false(stage_has(stage, &before.object));
	buffer_deinit(&bytes);
	stage_set_close(set);
	stage_free(stage);
}

/* Many small ones give way to a large one at once. */
static void test_a_large_one(void **state)
{
	(void)state;
	begin(400 * BLOCK);
	struct stage_set *old = set_new(1);
	for (uint64_t i = 0; i < 400; i++)
		keep(old, "old", i, 1);
	stage_set_close(old);
	struct stage_set *set = set_new(1);
	const struct stage_use use = {set, 0};
	struct stage_item item = item_of("large", 0, 1);
	struct buffer bytes = BUFFER_NULL;
	assert_int_equal(buffer_reserve(&bytes, 99 * BLOCK), 0);
	bytes.size = 99 * BLOCK;
	memset(bytes.data, 1, bytes.size);
	stage_keep(&use, &item, &bytes, SECOND);
	buffer_deinit(&bytes);
	assert_true(stage_has(stage, &item.object));
	assert_int_equal(stage_totals(stage).bytes, 400 * BLOCK);
	assert_int_equal(stage_totals(stage).replaced, 100);
	assert_int_equal(stage_totals(stage).full, 0);
	assert_int_equal(files(NULL), 301);
	stage_set_close(set);
	stage_free(stage);
}

static void test_damage(void **state)
{
	(void)state;
	char name[256];
	struct stat stat;
	struct rlimit limit;
	begin(100 * BLOCK);
	struct stage_set *set = set_new(1);
	keep(set, "a", 1, 1);
	assert_int_equal(files(name), 1);
	assert_int_equal(lstat(name, &stat), 0);
	for (off_t at = 0; at < stat.st_size; at++) { /* each byte */
		int fd = open(name, O_RDWR);
		uint8_t byte = 0;
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 1;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		close(fd);
		assert_false(found(set, "a", 1, 1));
		assert_int_equal(stage_totals(stage).bytes, 0);
		assert_int_equal(files(NULL), 0);
		keep(set, "a", 1, 1);
		assert_true(found(set, "a", 1, 1));
		assert_int_equal(truncate(name, at), 0); /* each length */
		assert_false(found(set, "a", 1, 1));
		keep(set, "a", 1, 1);
	}
	assert_int_equal(stage_totals(stage).damaged, 2 * stat.st_size);
	assert_int_equal(unlink(name), 0);
	assert_false(found(set, "a", 1, 1));
	keep(set, "a", 1, 1);
	assert_true(found(set, "a", 1, 1));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0); /* no descriptors: no damage */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, limit.rlim_max}), 0);
	assert_false(found(set, "a", 1, 1));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(found(set, "a", 1, 1));
	stage_set_close(set);
	stage_free(stage);
}

static void write_file(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
}

/* What stands where a folder should is removed by the next one. */
static void test_no_folder(void **state)
{
	(void)state;
	char origin[128], part[140];
	snprintf(origin, sizeof(origin), "%s/0123456789abcdef", folder);
	snprintf(part, sizeof(part), "%s/a1", origin);
	write_file(origin);
	begin(BLOCK);
	stage_free(stage);
	assert_int_equal(mkdir(origin, 0700), 0);
	write_file(part);
	begin(BLOCK);
	stage_free(stage);
	assert_int_equal(access(origin, F_OK), -1);
}

/* A secret that cannot be read now is no reason to lose what is kept; one that is no secret is. */
static void test_secret(void **state)
{
	(void)state;
	const struct stage_limits limits = {100 * BLOCK, 0};
	char name[128], away[128];
	struct fault fault;
	begin(100 * BLOCK);
	struct stage_set *set = set_new(1);
	keep(set, "a", 1, 1);
	stage_set_close(set);
	stage_free(stage);
	snprintf(name, sizeof(name), "%s/secret", folder);
	snprintf(away, sizeof(away), "%s/away", folder);
	assert_int_equal(rename(name, away), 0);
	int listener = socket(AF_UNIX, SOCK_STREAM, 0); /* ENXIO at each open, root's, too */
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/secret", folder);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	close(listener);
	assert_int_not_equal(
		stage_new(&stage, open(folder, O_RDONLY | O_DIRECTORY), &limits, &fault), 0);
	assert_non_null(strstr(fault.text, strerror(ENXIO)));
	assert_int_equal(rename(away, name), 0);
	begin(100 * BLOCK);
	set = set_new(1);
	assert_true(found(set, "a", 1, 1));
	stage_set_close(set);
	stage_free(stage);
	assert_int_equal(truncate(name, 5), 0);
	begin(100 * BLOCK);
	set = set_new(1);
	assert_false(found(set, "a", 1, 1));
	stage_set_close(set);
	stage_free(stage);
}

/* Two datasets on one origin, whichever of them read there last. */
static void test_drop_of_one(void **state)
{
	(void)state;
	begin(100 * BLOCK);
	struct stage_set *first = set_new(1), *second = set_new(2), *third = set_new(3);
	for (int round = 0; round < 2; round++) {
		keep(first, "a", 1, 1);
		keep(second, "a", 2, 1);
		keep(third, "b", 1, 1);
		stage_set_drop(round ? first : second);
		stage_trim(stage);
		assert_false(found(first, "a", 1, 1) || found(second, "a", 2, 1));
		assert_true(found(third, "b", 1, 1));
	}
	stage_set_close(first);
	stage_set_close(second);
	stage_set_close(third);
	stage_free(stage);
}

/* What is of use to nobody goes, in its version alone, and its room is free. */
static void test_remove(void **state)
{
	(void)state;
	begin(100 * BLOCK);
	struct stage_set *set = set_new(1);
	const struct stage_item item = item_of("a", 7, 1);
	keep(set, "a", 7, 1);
	keep(set, "a", 7, 2);
	stage_remove(stage, &item);
	stage_remove(stage, &item);
	assert_false(found(set, "a", 7, 1));
	assert_true(found(set, "a", 7, 2));
	assert_int_equal(files(NULL), 1);
	assert_int_equal(stage_totals(stage).bytes, BLOCK);
	assert_int_equal(stage_totals(stage).damaged, 0);
	stage_set_close(set);
	stage_free(stage);
}

#define KEEPERS 8
#define KEPT 10
#define LARGE 20 /* blocks */

static void *keep_many(void *context)
{
	static atomic_uint number;
	uint8_t *data = calloc(LARGE, BLOCK);
	assert_non_null(data);
	for (unsigned i = 0; i < KEPT; i++) {
		const struct stage_use use = {context, atomic_fetch_add(&number, 1)};
		struct stage_item item = item_of("new", use.sample, 1);
		struct buffer bytes = {data, LARGE * BLOCK - 4000, LARGE * BLOCK};
		stage_keep(&use, &item, &bytes, SECOND);
	}
	free(data);
	return NULL;
}

/* So much goes as comes, also while others make room, too. */
static void test_room_for_many(void **state)
{
	(void)state;
	pthread_t threads[KEEPERS];
	begin(2 * KEEPERS * KEPT * LARGE * BLOCK);
	struct stage_set *old = set_new(1);
	for (uint64_t i = 0; i < 2 * KEEPERS * KEPT * LARGE; i++)
		keep(old, "old", i, 1);
	stage_set_close(old);
	struct stage_set *set = set_new(1);
	for (size_t i = 0; i < KEEPERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, keep_many, set), 0);
	for (size_t i = 0; i < KEEPERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(stage_totals(stage).replaced, KEEPERS * KEPT * LARGE);
	assert_int_equal(stage_totals(stage).bytes, 2 * KEEPERS * KEPT * LARGE * BLOCK);
	stage_set_close(set);
	stage_free(stage);
}

#define HEALERS 8
#define HEALED ((size_t)1 << 19)

static void *heal(void *context)
{
	const struct stage_use use = {context, 1};
	struct stage_item item = item_of("a", 1, 1);
	struct buffer bytes = BUFFER_NULL, fetched = BUFFER_NULL;
	assert_int_equal(buffer_reserve(&fetched, HEALED), 0);
	memset(fetched.data, 0, HEALED);
	fetched.size = HEALED;
	for (int i = 0; i < 3; i++)
		if (!stage_find(&use, &item, HEALED, &bytes, SECOND))
			stage_keep(&use, &item, &fetched, SECOND);
	buffer_deinit(&bytes);
	buffer_deinit(&fetched);
	return NULL;
}

/* Who is late to see that a file is damaged leaves the one that was fetched in its place. */
static void test_damage_is_seen_once(void **state)
{
	(void)state;
	char name[256];
	pthread_t threads[HEALERS];
	begin(1000 * BLOCK);
	struct stage_set *set = set_new(1);
	heal(set);
	assert_int_equal(files(name), 1);
	for (uint64_t round = 1; round <= 50; round++) {
		int fd = open(name, O_WRONLY);
		assert_int_equal(pwrite(fd, "x", 1, HEALED), 1);
		close(fd);
		for (size_t i = 0; i < HEALERS; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, heal, set), 0);
		for (size_t i = 0; i < HEALERS; i++)
			pthread_join(threads[i], NULL);
		heal(set);
		assert_int_equal(stage_totals(stage).damaged, round);
	}
	stage_set_close(set);
	stage_free(stage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_spread, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gives_way, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_goes_for_what_does_not_fit, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_large_one, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damage, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damage_is_seen_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_folder, setup, teardown),
		cmocka_unit_test_setup_teardown(test_secret, setup, teardown),
		cmocka_unit_test_setup_teardown(test_drop_of_one, setup, teardown),
		cmocka_unit_test_setup_teardown(test_remove, setup, teardown),
		cmocka_unit_test_setup_teardown(test_room_for_many, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
