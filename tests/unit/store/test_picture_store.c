// SPDX-License-Identifier: MIT
/* The picture store: rows come back as they were written or not at all; what gives way to what; and
 * what a slow disk is asked for. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "store/picture_store.h"
#include "tests/unit/test.h"

#define COLUMNS 100
#define ROWS 400 /* so several bands */
#define PIXELS ((size_t)3 * COLUMNS * ROWS)
#define ROOM 126976 /* of a file: header and pixels, in blocks */

static const struct digest version = {{1}}, other_version = {{2}};
static const struct stored_shape shape = {COLUMNS, ROWS,  COLUMNS,	     ROWS,
					  true,	   false, PICTURE_OF_INDEXED};
static const struct picture_use busy = {.keep = true}, idle = {.keep = true, .idle = true};

struct fixture {
	char path[64];
	struct picture_store *store;
	struct picture_cache cache; /* which has the sets */
	struct picture_set *set, *other;
};

static void fixture_open(struct fixture *fixture, uint64_t limit, const struct digest *of)
{
	struct fault fault;
	int fd = open(fixture->path, O_RDONLY | O_DIRECTORY);
	assert_true(fd >= 0);
	assert_int_equal(picture_store_open(&fixture->store, fd, limit, of, &fault), 0);
	assert_string_equal(fault.text, ""); /* also where another version's secret was */
	picture_store_trim(fixture->store, 1);
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	strcpy(fixture->path, "/tmp/stoker-picture-store-XXXXXX");
	if (!mkdtemp(fixture->path))
		return -1;
	picture_cache_init(&fixture->cache, 0);
	assert_int_equal(picture_set_new(&fixture->set, &fixture->cache, 7, 100), 0);
	assert_int_equal(picture_set_new(&fixture->other, &fixture->cache, 8, 100), 0);
	fixture_open(fixture, 20 * ROOM, &version);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	char command[128];
	picture_store_close(fixture->store);
	picture_set_close(fixture->set);
	picture_set_close(fixture->other);
	picture_cache_trim(&fixture->cache);
	picture_cache_deinit(&fixture->cache);
	snprintf(command, sizeof(command), "rm -r %s", fixture->path);
	free(fixture);
	return system(command);
}

static struct stored_key key_of(uint64_t content)
{
	return (struct stored_key){.stamp = {1000, content}, .scale = 1};
}

static uint8_t pixel_of(uint64_t content, size_t at)
{
	return (uint8_t)((content * 31 + at * 7 + at / 251) >> 1);
}

static void keep(struct fixture *fixture, uint64_t content, struct picture_set *set,
		 const struct picture_use *use)
{
	uint8_t *pixels = malloc(PIXELS);
	struct stored_key key = key_of(content);
	const struct stored_claim claim = {set, picture_set_user(set), PICTURE_OF_INDEXED, use};
	for (size_t i = 0; i < PIXELS; i++)
		pixels[i] = pixel_of(content, i);
	picture_store_keep(fixture->store, &key, &shape, pixels, &claim);
	free(pixels);
}

static bool has(struct fixture *fixture, uint64_t content)
{
	struct stored_key key = key_of(content);
	return picture_store_has(fixture->store, &key, false, false);
}

/* Whether these rows are there; they are right then. */
static bool reads(struct fixture *fixture, uint64_t content, int32_t y, int32_t height)
{
	struct picture_file file;
	struct stored_key key = key_of(content);
	if (!picture_store_load(fixture->store, &key, &file))
		return false;
	struct rect rows = picture_file_part(&file, (struct rect){3, y, 1, height});
	assert_true(rows.y <= y && rows.y + rows.height >= y + height && rows.width == COLUMNS);
	size_t first = (size_t)rows.y * 3 * COLUMNS, size = (size_t)rows.height * 3 * COLUMNS;
	uint8_t *pixels = malloc(size);
	bool good = picture_store_read(fixture->store, &key, &file, rows, pixels);
	for (size_t i = 0; good && i < size; i++)
		assert_int_equal(pixels[i], pixel_of(content, first + i));
	free(pixels);
	picture_file_close(&file);
	return good;
}

static void test_rows_come_back(void **state)
{
	struct fixture *fixture = *state;
	keep(fixture, 5, fixture->set, &busy);
	assert_int_equal(fixture->store->bytes, ROOM);
	for (int32_t y = 0; y < ROWS; y += 13)
		for (int32_t height = 1; y + height <= ROWS; height += 57)
			assert_true(reads(fixture, 5, y, height));
	assert_false(has(fixture, 6) || reads(fixture, 6, 0, 1));
	struct stored_key key = key_of(5);
	key.exif = true;
	assert_false(picture_store_has(fixture->store, &key, true, false));
	key = key_of(5);
	key.scale = 8;
	assert_false(picture_store_has(fixture->store, &key, false, false));
	assert_true(picture_store_has(fixture->store, &key, true, false));
	assert_int_equal(key.scale, 1);
}

static void test_the_next_daemon(void **state)
{
	struct fixture *fixture = *state;
	char text[128];
	keep(fixture, 5, fixture->set, &busy);
	keep(fixture, 6, fixture->other, &busy);
	picture_store_close(fixture->store);
	snprintf(text, sizeof(text), "%s/3.new", fixture->path);
	close(open(text, O_CREAT | O_WRONLY, 0600));
	fixture_open(fixture, 20 * ROOM, &version);
	assert_true(reads(fixture, 5, 0, ROWS) && reads(fixture, 6, 0, ROWS));
	assert_int_equal(fixture->store->bytes, 2 * ROOM);
	assert_int_equal(access(text, F_OK), -1);
	picture_store_close(fixture->store);
	fixture_open(fixture, 20 * ROOM, &other_version);
	assert_false(has(fixture, 5) || has(fixture, 6));
	assert_int_equal(fixture->store->bytes, 0);
	picture_store_close(fixture->store);
	fixture_open(fixture, 20 * ROOM, &version); /* a secret is never used again */
	assert_false(has(fixture, 5));
}

/* With another one all that is kept would be lost. */
static void test_a_secret_that_cannot_be_read_yet(void **state)
{
	struct fixture *fixture = *state;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char away[128];
	struct fault fault;
	keep(fixture, 5, fixture->set, &busy);
	picture_store_close(fixture->store);
	fixture->store = NULL;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/secret", fixture->path);
	snprintf(away, sizeof(away), "%s/away", fixture->path);
	assert_int_equal(rename(address.sun_path, away), 0);
	int listener = socket(AF_UNIX, SOCK_STREAM, 0); /* ENXIO at each open, root's, too */
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	close(listener);
	int fd = open(fixture->path, O_RDONLY | O_DIRECTORY);
	assert_int_equal(picture_store_open(&fixture->store, fd, 20 * ROOM, &version, &fault),
			 PICTURE_STORE_E_SYSTEM);
	assert_non_null(strstr(fault.text, strerror(ENXIO)));
	assert_int_equal(rename(away, address.sun_path), 0);
	fixture_open(fixture, 20 * ROOM, &version);
	assert_true(reads(fixture, 5, 0, ROWS));
}

/* Nothing is written before all that is there is counted. */
static void test_a_folder_that_cannot_be_read_yet(void **state)
{
	struct fixture *fixture = *state;
	const struct stored_claim claim = {fixture->set, 7, PICTURE_OF_INDEXED, &busy};
	struct stored_key key = key_of(6);
	struct rlimit before, none;
	keep(fixture, 5, fixture->set, &busy);
	picture_store_close(fixture->store);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){0, before.rlim_max};
	struct fault fault;
	int fd = open(fixture->path, O_RDONLY | O_DIRECTORY);
	assert_int_equal(picture_store_open(&fixture->store, fd, 20 * ROOM, &version, &fault), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	picture_store_trim(fixture->store, 1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_false(picture_store_wants(fixture->store, &key, PIXELS, &claim, false));
	picture_store_trim(fixture->store, 1);
	assert_int_equal(fixture->store->bytes, ROOM);
	assert_true(picture_store_wants(fixture->store, &key, PIXELS, &claim, false));
}

/* The file of the only picture. */
static int open_file(struct fixture *fixture)
{
	char text[512];
	int fd = -1;
	DIR *folder = opendir(fixture->path);
	for (struct dirent *entry; (entry = readdir(folder));) {
		if (!strstr(entry->d_name, ".rgb"))
			continue;
		snprintf(text, sizeof(text), "%s/%s", fixture->path, entry->d_name);
		fd = open(text, O_RDWR);
	}
	closedir(folder);
	return fd;
}

/* No bit that is changed shows, wherever it is. */
static void test_every_place_is_checked(void **state)
{
	struct fixture *fixture = *state;
	for (off_t at = 0; at < (off_t)(PICTURE_FILE_BLOCK + PIXELS); at += at < 96 ? 5 : 1733) {
		keep(fixture, 5, fixture->set, &busy);
		int fd = open_file(fixture);
		uint8_t byte;
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= (uint8_t)(1 << at % 8);
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		close(fd);
		assert_false(reads(fixture, 5, 0, ROWS));
		assert_false(has(fixture, 5));
		assert_int_equal(fixture->store->bytes, 0);
	}
	keep(fixture, 5, fixture->set, &busy);
	int fd = open_file(fixture);
	assert_int_equal(ftruncate(fd, PICTURE_FILE_BLOCK + PIXELS - 1), 0);
	close(fd);
	assert_true(reads(fixture, 5, 0, 1)); /* what is there is right */
	assert_false(reads(fixture, 5, ROWS - 1, 1));
}

static void test_the_limit(void **state)
{
	struct fixture *fixture = *state;
	for (uint64_t i = 0; i < 30; i++) {
		keep(fixture, i, fixture->set, &busy);
		assert_true(fixture->store->bytes <= 20 * ROOM);
	}
	assert_int_equal(fixture->store->pictures, 20);
	picture_store_set_limit(fixture->store, 17 * ROOM + 1);
	picture_store_trim(fixture->store, 1);
	assert_int_equal(fixture->store->pictures, 17);
	picture_store_set_limit(fixture->store, 15 * ROOM); /* one is above a sixteenth */
	picture_store_drop(fixture->store);
	keep(fixture, 50, fixture->set, &busy);
	assert_int_equal(fixture->store->bytes, ROOM); /* asked for nevertheless, it is within it */
	const struct stored_claim claim = {fixture->set, 7, PICTURE_OF_INDEXED, &busy};
	struct stored_key key = key_of(51);
	assert_false(picture_store_wants(fixture->store, &key, PIXELS, &claim, false));
}

/* The user with the most makes room, until both have as much. */
static void test_users_share_it(void **state)
{
	struct fixture *fixture = *state;
	for (uint64_t i = 0; i < 20; i++)
		keep(fixture, i, fixture->set, &busy);
	for (uint64_t i = 20; i < 60; i++)
		keep(fixture, i, fixture->other, &busy);
	unsigned of_first = 0;
	for (uint64_t i = 0; i < 20; i++)
		of_first += has(fixture, i);
	assert_int_equal(of_first, 10);
	assert_int_equal(fixture->store->pictures, 20);
}

static struct picture_use visit_at(uint64_t next_ns, unsigned streams, bool is_idle)
{
	struct picture_use use = {.keep = true, .idle = is_idle, .now_ns = 1};
	use.forecast.count = streams;
	for (unsigned i = 0; i < streams; i++)
		use.forecast.at_ns[i] = next_ns;
	return use;
}

/* What is needed later gives way to what is needed sooner, by an idle worker; and what nobody came
 * for when it was expected gives way first. */
static void test_what_is_needed_last_goes(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t minute = (uint64_t)60 * 1000000000u;
	for (uint64_t i = 0; i < 20; i++) {
		struct picture_use use = visit_at((i + 1) * minute, 2, true);
		keep(fixture, i, fixture->set, &use);
	}
	struct picture_use later = visit_at(30 * minute, 2, true);
	keep(fixture, 40, fixture->set, &later);
	assert_false(has(fixture, 40));
	struct picture_use one = visit_at(minute, 1, true); /* of one stream nothing is replaced */
	keep(fixture, 41, fixture->set, &one);
	assert_false(has(fixture, 41));
	struct picture_use soon = visit_at(minute, 2, true);
	keep(fixture, 42, fixture->set, &soon);
	assert_true(has(fixture, 42));
	assert_false(has(fixture, 19));
	picture_store_trim(fixture->store, 3 * minute + 1); /* 0 and 42 were due a minute ago */
	keep(fixture, 43, fixture->set, &soon);
	keep(fixture, 44, fixture->set, &soon);
	assert_true(has(fixture, 43) && has(fixture, 44) && has(fixture, 18));
	assert_false(has(fixture, 0) && has(fixture, 42));
	assert_int_equal(fixture->store->pictures, 20);
}

/* What would make room, but not enough of it, stays. */
static void test_nothing_goes_for_what_does_not_fit(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t minute = (uint64_t)60 * 1000000000u;
	const struct stored_shape large = {COLUMNS, ROWS * 6 / 5, COLUMNS,	     ROWS * 6 / 5,
					   true,    false,	  PICTURE_OF_INDEXED};
	for (uint64_t i = 0; i < 20; i++) {
		struct picture_use use = visit_at((i ? 1 : 30) * minute, 2, true);
		keep(fixture, i, fixture->set, &use);
	}
	struct picture_use use = visit_at(10 * minute, 2, true);
	const struct stored_claim claim = {fixture->set, 7, PICTURE_OF_INDEXED, &use};
	struct stored_key key = key_of(50);
	uint8_t *pixels = calloc(1, PIXELS * 6 / 5);
	assert_false(picture_store_wants(fixture->store, &key, PIXELS * 6 / 5, &claim, false));
	picture_store_keep(fixture->store, &key, &large, pixels, &claim);
	assert_false(has(fixture, 50));
	assert_true(has(fixture, 0));
	assert_int_equal(fixture->store->replaced, 0);
	keep(fixture, 51, fixture->set, &use);
	assert_true(has(fixture, 51) && !has(fixture, 0));
	free(pixels);
}

/* Pictures of a dataset that nobody reads any more do not stay for good: those of the last daemon,
 * and those that were not come for. */
static void test_what_is_left_of_others_goes(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t minute = (uint64_t)60 * 1000000000u;
	struct picture_use use = visit_at(minute, 1, false);
	for (uint64_t i = 0; i < 20; i++)
		keep(fixture, i, fixture->other, &use);
	keep(fixture, 20, fixture->other, &busy); /* who says no time displaces nothing */
	assert_true(has(fixture, 0) && !has(fixture, 20));
	picture_store_close(fixture->store);
	fixture_open(fixture, 20 * ROOM, &version);
	for (uint64_t i = 20; i < 60; i++)
		keep(fixture, i, fixture->other, &use);
	for (uint64_t i = 0; i < 20; i++)
		assert_true(!has(fixture, i) && has(fixture, 20 + i));
	assert_false(has(fixture, 40)); /* of one stream nothing more is replaced */
	picture_store_trim(fixture->store, 3 * minute);
	keep(fixture, 60, fixture->other, &use);
	assert_true(has(fixture, 60));
	assert_int_equal(fixture->store->pictures, 20);
}

static void test_a_slow_disk(void **state)
{
	struct fixture *fixture = *state;
	struct read_speed *speed = &fixture->store->speed;
	keep(fixture, 5, fixture->set, &idle);
	assert_true(has(fixture, 5));
	read_speed_add(speed, 64 << 20, 1000000000); /* 0.06 GB/s */
	assert_true(read_speed_is_slow(speed));
	unsigned found = 0;
	for (int i = 0; i < 128; i++)
		found += has(fixture, 5);
	assert_int_equal(found, 2); /* to see whether it is still slow */
	struct stored_key key = key_of(5);
	assert_true(picture_store_has(fixture->store, &key, true,
				      true)); /* by who was told so before */
	keep(fixture, 6, fixture->set, &idle);
	read_speed_add(speed, 64 << 20, 10000000);
	assert_false(read_speed_is_slow(speed));
	assert_true(has(fixture, 5));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_rows_come_back),
		TEST(test_the_next_daemon),
		TEST(test_a_secret_that_cannot_be_read_yet),
		TEST(test_a_folder_that_cannot_be_read_yet),
		TEST(test_every_place_is_checked),
		TEST(test_the_limit),
		TEST(test_users_share_it),
		TEST(test_what_is_needed_last_goes),
		TEST(test_nothing_goes_for_what_does_not_fit),
		TEST(test_what_is_left_of_others_goes),
		TEST(test_a_slow_disk),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
