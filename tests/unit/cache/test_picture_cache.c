// SPDX-License-Identifier: MIT
/* The cache of decoded pictures: what is found and what is not, its budget, pins, many threads. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cache/picture_cache.h"
#include "tests/unit/test.h"

#define SAMPLES 64
#define WIDTH 37
#define HEIGHT 29
#define BYTES (WIDTH * HEIGHT * 3)
#define ROOM 4096 /* what one takes: whole pages */

static const struct picture_use busy = {.keep = true};

struct fixture {
	struct picture_cache cache;
	struct picture_set *set;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	assert_non_null(fixture);
	picture_cache_init(&fixture->cache, 32 * ROOM);
	assert_int_equal(picture_set_new(&fixture->set, &fixture->cache, 0, SAMPLES), 0);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	picture_set_close(fixture->set);
	picture_cache_trim(&fixture->cache);
	assert_int_equal(fixture->cache.bytes, 0);
	assert_int_equal(fixture->cache.pictures, 0);
	picture_cache_deinit(&fixture->cache);
	free(fixture);
	return 0;
}

static struct picture_key key_of(uint64_t sample, uint64_t content)
{
	return (struct picture_key){.sample = sample, .stamp = {100, content}, .scale = 1};
}

/* Fill it with a value of its own, as a decoder does. NULL: there is no room. */
static struct cached_picture *fill(struct picture_set *set, const struct picture_key *key)
{
	struct cached_picture *picture =
		picture_set_take(set, key, WIDTH, HEIGHT, PICTURE_OF_INDEXED, &busy);
	if (!picture)
		return NULL;
	assert_true(picture->memory.capacity >= BYTES);
	memset(picture->memory.data, (int)(key->sample + key->stamp.content), BYTES);
	picture->image = (struct image){
		picture->memory.data, 3 * WIDTH, WIDTH, HEIGHT, {0, 0, WIDTH, HEIGHT}};
	picture_set_keep(picture);
	return picture;
}

static bool put(struct picture_set *set, const struct picture_key *key)
{
	struct cached_picture *picture = fill(set, key);
	picture_unpin(picture);
	return picture;
}

static bool finds(struct picture_set *set, const struct picture_key *key)
{
	struct cached_picture *picture = picture_set_find(set, key, false);
	if (!picture)
		return false;
	const uint8_t value = (uint8_t)(key->sample + key->stamp.content);
	for (size_t i = 0; i < BYTES; i++)
		assert_int_equal(picture->image.pixels[i], value);
	picture_unpin(picture);
	return true;
}

/* A picture is of one sample, one content, one scale, one way to look at EXIF. */
static void test_found_by_its_key_alone(void **state)
{
	struct fixture *fixture = *state;
	struct picture_key key = key_of(5, 7);
	assert_false(picture_set_has(fixture->set, 5));
	assert_true(put(fixture->set, &key));
	assert_true(picture_set_has(fixture->set, 5));
	assert_true(finds(fixture->set, &key));
	struct picture_key others[] = {key, key, key, key, key};
	others[0].sample = 6;
	others[1].stamp.content = 8;
	others[2].stamp.size = 101;
	others[3].scale = 2;
	others[4].exif = true;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(finds(fixture->set, &others[i]));
	assert_true(put(fixture->set, &others[3]) && put(fixture->set, &others[4]));
	assert_int_equal(fixture->cache.pictures, 3);
	picture_set_forget(fixture->set, 5);
	assert_false(finds(fixture->set, &key) || finds(fixture->set, &others[3]));
	assert_int_equal(fixture->cache.pictures, 0);
	assert_int_equal(fixture->cache.bytes, 0);
}

static void test_a_smaller_scale_takes_less(void **state)
{
	struct fixture *fixture = *state;
	struct picture_key key = key_of(0, 1);
	key.scale = 8;
	struct cached_picture *picture =
		picture_set_take(fixture->set, &key, 8 * 37 - 7, 8 * 29, PICTURE_OF_INDEXED, &busy);
	assert_non_null(picture);
	assert_int_equal(fixture->cache.bytes, ROOM);
	picture_set_refuse(picture->set, picture->key.sample);
	picture_unpin(picture);
	assert_int_equal(fixture->cache.bytes, 0);
}

static bool put_file(struct picture_set *set, const struct picture_key *key)
{
	struct cached_picture *file = picture_set_take_file(set, key, BYTES, &busy);
	if (!file)
		return false;
	assert_int_equal(file->memory.size, BYTES);
	memset(file->memory.data, 1, BYTES);
	picture_set_keep(file);
	picture_unpin(file);
	return true;
}

/* The scale of what is found, 0 for a file; -1 if nothing is. */
static int finds_any(struct picture_set *set, const struct picture_key *key)
{
	struct cached_picture *picture = picture_set_find(set, key, true);
	int scale = !picture ? -1 : picture->key.file ? 0 : (int)picture->key.scale;
	picture_unpin(picture);
	return scale;
}

/* A file stands in for its picture while that is not kept. */
static void test_a_file(void **state)
{
	struct fixture *fixture = *state;
	struct picture_key file = key_of(5, 7), picture = key_of(5, 7), other = key_of(5, 8);
	struct picture_key later = key_of(5, 9);
	file.file = other.file = later.file = true;
	picture.scale = 4;
	assert_int_equal(finds_any(fixture->set, &picture), -1);
	assert_true(put_file(fixture->set, &file));
	assert_false(put_file(fixture->set, &file));
	assert_int_equal(finds_any(fixture->set, &picture), 0);
	assert_int_equal(finds_any(fixture->set, &other), -1);
	assert_true(fixture->cache.files == 1 && fixture->cache.pictures == 0);
	assert_true(put_file(fixture->set, &other));
	assert_true(put(fixture->set, &picture));
	assert_int_equal(finds_any(fixture->set, &picture), 4);
	assert_int_equal(finds_any(fixture->set, &file), 4);
	assert_int_equal(finds_any(fixture->set, &other), 0);
	assert_true(fixture->cache.files == 2 && fixture->cache.pictures == 1);
	struct picture_totals totals = picture_set_totals(fixture->set);
	assert_true(totals.files == 2 && totals.pictures == 1 && totals.bytes == 3 * ROOM);
	assert_int_equal(totals.hits, 0);
	picture_set_drop(fixture->set);
	assert_true(put_file(fixture->set, &later));
	picture_cache_trim(&fixture->cache);
	assert_true(fixture->cache.files == 1 && fixture->cache.pictures == 0);
	assert_int_equal(finds_any(fixture->set, &later), 0);
	assert_int_equal(fixture->cache.bytes, ROOM);
	picture_set_forget(fixture->set, 5);
	assert_int_equal(fixture->cache.files, 0);
	assert_true(picture_set_wants_file(fixture->set, 5));
	picture_set_refuse_file(fixture->set, 5);
	assert_false(picture_set_wants_file(fixture->set, 5));
	assert_true(picture_set_wants_file(fixture->set, 6));
}

/* What each sample can have of the budget. */
static void test_a_fair_share(void **state)
{
	struct fixture *fixture = *state;
	const struct picture_set *set = fixture->set;
	struct picture_set *second;
	assert_true(picture_set_affords(set, 2000));
	assert_false(picture_set_affords(set, 2100)); /* 64 of them */
	assert_int_equal(picture_set_new(&second, &fixture->cache, 0, SAMPLES), 0);
	assert_false(picture_set_affords(set, 2000));
	assert_true(picture_set_affords(set, 1000));
	assert_ptr_equal(picture_set_hold(second), second);
	picture_set_close(second);
	assert_false(picture_set_affords(set, 2000));
	picture_set_close(second);
	assert_true(picture_set_affords(set, 2000));
	assert_true(picture_set_has_room(fixture->set, 2 * ROOM, PICTURE_OF_INDEXED, &busy));
	assert_false(picture_set_has_room(fixture->set, 2 * ROOM + 1, PICTURE_OF_INDEXED,
					  &busy)); /* too large */
	for (uint64_t sample = 0; sample < 31; sample++) {
		const struct picture_key key = key_of(sample, 3);
		assert_true(put(fixture->set, &key));
	}
	assert_true(picture_set_has_room(fixture->set, ROOM, PICTURE_OF_INDEXED, &busy));
	assert_false(picture_set_has_room(fixture->set, ROOM + 1, PICTURE_OF_INDEXED, &busy));
}

static void test_which_visit_fills(void **state)
{
	struct fixture *fixture = *state;
	struct picture_set *set = fixture->set;
	assert_false(picture_set_use(set, 1, false, 0).keep);
	assert_true(picture_set_use(set, 1, false, 0).keep);
	assert_true(picture_set_use(set, 5, false, 0).keep);
	assert_true(picture_set_use(set, 2, true, 0).keep);
	const struct picture_key key = key_of(1, 1);
	assert_true(picture_set_wants_whole(set, 1));
	picture_set_refuse(set, 1);
	assert_false(picture_set_wants_whole(set, 1));
	assert_null(picture_set_take(set, &key, WIDTH, HEIGHT, PICTURE_OF_INDEXED, &busy));
	assert_true(picture_set_is_on(set));
	picture_cache_set_limit(&fixture->cache, 0);
	assert_false(picture_set_is_on(set));
}

/* Of samples that a stream shows: all, or each of a step, as ranks and folds do. */
static void test_a_quarter_is_kept_at_once(void **state)
{
	enum { COUNT = 4000, STEPS = 12 };
	(void)state;
	for (uint64_t step = 1; step <= STEPS; step++) {
		struct picture_cache cache;
		struct picture_set *set;
		unsigned early = 0;
		picture_cache_init(&cache, 1 << 20);
		assert_int_equal(picture_set_new(&set, &cache, 0, COUNT * STEPS), 0);
		for (uint64_t sample = 0; sample < COUNT * step; sample += step)
			early += picture_set_use(set, sample, false, 0).keep;
		assert_in_range(early, COUNT / 4 - COUNT / 100, COUNT / 4 + COUNT / 100);
		picture_set_close(set);
		picture_cache_deinit(&cache);
	}
}

static void test_the_budget(void **state)
{
	struct fixture *fixture = *state;
	unsigned kept = 0;
	for (uint64_t sample = 0; sample < SAMPLES; sample++) {
		const struct picture_key key = key_of(sample, 3);
		kept += put(fixture->set, &key);
	}
	assert_int_equal(kept, 32);
	assert_int_equal(fixture->cache.bytes, 32 * ROOM);
	assert_int_equal(fixture->cache.full, SAMPLES - 32);
	assert_int_equal(fixture->cache.fills, 32);
	for (uint64_t sample = 0; sample < SAMPLES; sample++) {
		const struct picture_key key = key_of(sample, 3);
		assert_int_equal(finds(fixture->set, &key), sample < 32); /* nothing is evicted */
	}
	picture_cache_set_limit(&fixture->cache, 20 * ROOM);
	picture_cache_trim(&fixture->cache);
	assert_int_equal(fixture->cache.pictures, 20);
	assert_int_equal(fixture->cache.bytes, 20 * ROOM);
	picture_cache_set_limit(&fixture->cache, 24 * ROOM);
	const struct picture_key fresh = key_of(40, 3);
	assert_true(put(fixture->set, &fresh) && finds(fixture->set, &fresh));
	picture_cache_set_limit(&fixture->cache, 0);
	picture_cache_trim(&fixture->cache);
	assert_int_equal(fixture->cache.bytes, 0);
}

/* What would make room, but not enough of it, stays. */
static void test_nothing_goes_for_what_does_not_fit(void **state)
{
	struct fixture *fixture = *state;
	struct picture_set *set = fixture->set;
	const struct picture_key small[2] = {key_of(0, 3), key_of(1, 3)}, large = key_of(40, 3);
	assert_true(put(set, &small[0]));
	for (uint64_t sample = 2; sample < 33; sample++) {
		struct picture_key key = key_of(sample, 3);
		key.file = true;
		struct cached_picture *file = picture_set_take_file(set, &key, 2000, &busy);
		assert_non_null(file);
		picture_set_keep(file);
		picture_unpin(file);
	}
	assert_false(picture_set_has_room(set, 2 * ROOM, PICTURE_OF_SLOW, &busy));
	assert_null(picture_set_take(set, &large, 2 * WIDTH, HEIGHT, PICTURE_OF_SLOW, &busy));
	assert_int_equal(fixture->cache.replaced, 0);
	assert_true(finds(set, &small[0]));
	picture_cache_set_limit(&fixture->cache, 33 * ROOM);
	assert_true(put(set, &small[1]));
	assert_true(picture_set_has_room(set, 2 * ROOM, PICTURE_OF_SLOW, &busy));
	struct cached_picture *picture =
		picture_set_take(set, &large, 2 * WIDTH, HEIGHT, PICTURE_OF_SLOW, &busy);
	assert_non_null(picture);
	picture_unpin(picture);
	assert_int_equal(fixture->cache.replaced, 2);
	assert_int_equal(fixture->cache.files, 31);
}

static void test_a_large_picture_is_not_kept(void **state)
{
	struct fixture *fixture = *state;
	const struct picture_key key = key_of(0, 1);
	/* A sixteenth of 32 rooms are two. */
	assert_null(
		picture_set_take(fixture->set, &key, WIDTH, 3 * HEIGHT, PICTURE_OF_INDEXED, &busy));
	assert_int_equal(fixture->cache.full, 1);
	assert_int_equal(fixture->cache.bytes, 0);
	struct cached_picture *picture =
		picture_set_take(fixture->set, &key, WIDTH, 2 * HEIGHT, PICTURE_OF_INDEXED, &busy);
	assert_non_null(picture);
	picture_unpin(picture);
}

/* Nothing that somebody looks at goes, and all goes with the last look. */
static void test_pins(void **state)
{
	struct fixture *fixture = *state;
	const struct picture_key key = key_of(9, 4), other = key_of(10, 4);
	struct cached_picture *picture = fill(fixture->set, &key);
	assert_ptr_equal(picture_set_find(fixture->set, &key, false), picture);
	assert_true(put(fixture->set, &other));
	picture_cache_set_limit(&fixture->cache, 0);
	picture_cache_trim(&fixture->cache);
	assert_false(picture_set_has(fixture->set, 9));
	assert_int_equal(fixture->cache.pictures, 0);
	assert_int_equal(fixture->cache.bytes, ROOM);
	assert_int_equal(picture->image.pixels[BYTES - 1], 13);
	picture_unpin(picture);
	assert_int_equal(fixture->cache.bytes, ROOM);
	picture_unpin(picture);
	assert_int_equal(fixture->cache.bytes, 0);
	picture_unpin(NULL);
}

/* Two fill the same: the second is of use to its own maker alone. */
static void test_two_at_once(void **state)
{
	struct fixture *fixture = *state;
	const struct picture_key key = key_of(1, 1);
	struct cached_picture *late =
		picture_set_take(fixture->set, &key, WIDTH, HEIGHT, PICTURE_OF_INDEXED, &busy);
	struct cached_picture *first = fill(fixture->set, &key);
	picture_set_keep(late);
	assert_int_equal(fixture->cache.fills, 1);
	assert_null(picture_set_take(fixture->set, &key, WIDTH, HEIGHT, PICTURE_OF_INDEXED, &busy));
	struct cached_picture *found = picture_set_find(fixture->set, &key, false);
	assert_ptr_equal(found, first);
	picture_unpin(found);
	picture_unpin(first);
	picture_unpin(late);
	assert_int_equal(fixture->cache.bytes, ROOM);
}

static void test_a_closed_set(void **state)
{
	struct fixture *fixture = *state;
	struct picture_set *other;
	const struct picture_key key = key_of(1, 1);
	assert_int_equal(picture_set_new(&other, &fixture->cache, 0, 2), 0);
	assert_true(put(fixture->set, &key) && put(other, &key));
	picture_set_close(other);
	picture_cache_trim(&fixture->cache);
	assert_int_equal(fixture->cache.bytes, ROOM);
	assert_true(finds(fixture->set, &key));
}

/* One user has filled all of it. Another one gets as much, whatever it is worth, and no more. */
static void test_two_users(void **state)
{
	struct fixture *fixture = *state;
	struct picture_set *other;
	unsigned mine = 0, others = 0;
	assert_int_equal(picture_set_new(&other, &fixture->cache, 7, SAMPLES), 0);
	assert_true(picture_set_affords(other, 1000));
	assert_false(picture_set_affords(other, 1100));
	for (uint64_t sample = 0; sample < 40; sample++) {
		const struct picture_key key = key_of(sample, 1);
		put(fixture->set, &key);
	}
	for (uint64_t sample = 0; sample < 40; sample++) {
		const struct picture_key key = key_of(sample, 1);
		assert_int_equal(picture_set_has_room(other, ROOM, PICTURE_OF_INDEXED, &busy),
				 sample < 16);
		assert_int_equal(put(other, &key), sample < 16);
	}
	for (uint64_t sample = 0; sample < 40; sample++) {
		const struct picture_key key = key_of(sample, 1);
		mine += finds(fixture->set, &key);
		others += finds(other, &key);
	}
	assert_int_equal(mine, 16);
	assert_int_equal(others, 16);
	picture_set_close(fixture->set);
	picture_cache_trim(&fixture->cache);
	for (uint64_t sample = 16; sample < 40; sample++) {
		const struct picture_key key = key_of(sample, 1);
		assert_int_equal(put(other, &key), sample < 32);
	}
	fixture->set = other;
}

#define THREADS 4
#define ROUNDS 20000

static void *visitor(void *argument)
{
	struct fixture *fixture = argument;
	unsigned random = (unsigned)(uintptr_t)&random;
	for (unsigned i = 0; i < ROUNDS; i++) {
		random = random * 1103515245 + 12345;
		const struct picture_key key =
			key_of(random >> 16 & (SAMPLES - 1), random >> 24 & 1);
		if (i % 64 == 0)
			picture_set_forget(fixture->set, key.sample);
		else if (!finds(fixture->set, &key) && fixture->cache.bytes <= 32 * ROOM)
			put(fixture->set, &key);
	}
	return NULL;
}

/* Pictures are found, filled and dropped while the budget shrinks and grows. */
static void test_many_threads(void **state)
{
	struct fixture *fixture = *state;
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, visitor, fixture), 0);
	for (uint64_t round = 0; round < 200; round++) {
		picture_cache_set_limit(&fixture->cache, round % 3 * 16 * ROOM);
		picture_cache_trim(&fixture->cache);
		assert_true(fixture->cache.bytes <= (32 + THREADS) * ROOM);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_true(fixture->cache.fills > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_found_by_its_key_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_smaller_scale_takes_less, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_fair_share, setup, teardown),
		cmocka_unit_test_setup_teardown(test_which_visit_fills, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_quarter_is_kept_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_budget, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_goes_for_what_does_not_fit, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_large_picture_is_not_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pins, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_closed_set, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two_users, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_threads, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
