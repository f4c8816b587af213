// SPDX-License-Identifier: MIT
/* The set of seek indexes: by sample and stamp, within a budget that sets share, for many threads.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "decode/jpeg/seek_index_set.h"
#include "tests/unit/test.h"

static struct stamp stamp_of(uint64_t sample, int64_t state)
{
	return (struct stamp){sample * 100, (uint64_t)state};
}

static enum seek_index_set_answer find(struct seek_index_set *set, uint64_t sample, int64_t state,
				       const uint8_t **bytes, size_t *size)
{
	const struct stamp stamp = stamp_of(sample, state);
	return seek_index_set_find(set, sample, &stamp, bytes, size);
}

#define ROWS 600
#define BLOB_BYTES (sizeof(struct seek_index_header) + (ROWS + 1) * 6)

/* An index of a grey picture as wide as one group: of `rows` rows of MCUs it covers the first
 * `known`; all entries are `value`. */
static size_t blob_make(uint8_t *bytes, uint32_t rows, uint32_t known, uint8_t value)
{
	size_t size = sizeof(struct seek_index_header) + (rows + 1) * 6;
	const struct seek_index_header header = {.magic = SEEK_INDEX_MAGIC,
						 .bytes = (uint32_t)size,
						 .width = 8 * SEEK_INDEX_GROUP,
						 .height = (uint16_t)(8 * rows),
						 .components = 1,
						 .group = SEEK_INDEX_GROUP,
						 .sampling = {0x11},
						 .known = known};
	memset(bytes, value, size);
	memcpy(bytes, &header, sizeof(header));
	return size;
}

static bool put_known(struct seek_index_set *set, uint64_t sample, int64_t state, uint8_t value,
		      uint32_t rows, uint32_t known)
{
	const struct stamp stamp = stamp_of(sample, state);
	uint8_t bytes[BLOB_BYTES];
	size_t size = blob_make(bytes, rows, known, value);
	return seek_index_set_put(set, sample, &stamp, bytes, size);
}

static bool put(struct seek_index_set *set, uint64_t sample, int64_t state, uint8_t value,
		uint32_t rows)
{
	return put_known(set, sample, state, value, rows, rows);
}

static void check(struct seek_index_set *set, uint64_t sample, int64_t state, uint8_t value,
		  uint32_t rows)
{
	const uint8_t *bytes;
	uint8_t expected[BLOB_BYTES];
	size_t found, size = blob_make(expected, rows, rows, value);
	assert_int_equal(find(set, sample, state, &bytes, &found), SEEK_INDEX_SET_INDEX);
	assert_int_equal(found, size);
	assert_memory_equal(bytes, expected, size);
}

/* An index is of one content of its file. */
static void test_states_of_a_file(void **state)
{
	struct seek_index_budget account = {.limit = 1 << 20};
	struct seek_index_set *set;
	const uint8_t *bytes;
	size_t size;
	(void)state;
	assert_int_equal(seek_index_set_new(&set, &account, NULL, 5000), 0);
	assert_int_equal(find(set, 4999, 1, &bytes, &size), SEEK_INDEX_SET_NONE);
	put(set, 4999, 1, 17, 33);
	check(set, 4999, 1, 17, 33);
	const struct stamp stamp = stamp_of(4999, 1);
	for (int i = 0; i < 2; i++) {
		struct stamp other = stamp;
		other.size += i == 0;
		other.content += i == 1;
		assert_int_equal(seek_index_set_find(set, 4999, &other, &bytes, &size),
				 SEEK_INDEX_SET_NONE);
	}
	/* An index of the same state changes nothing; one of another state replaces it. */
	put(set, 4999, 1, 18, 34);
	check(set, 4999, 1, 17, 33);
	assert_int_equal(seek_index_set_find(set, 4999, &stamp, &bytes, &size),
			 SEEK_INDEX_SET_INDEX);
	put(set, 4999, 2, 19, 35);
	assert_int_equal(bytes[60], 17); /* a thread may still use the old one */
	check(set, 4999, 2, 19, 35);
	assert_int_equal(find(set, 4999, 1, &bytes, &size), SEEK_INDEX_SET_NONE);
	seek_index_set_refuse(set, 4999, &(struct stamp){1, 2}, SEEK_INDEX_E_ODD);
	assert_int_equal(seek_index_set_find(set, 4999, &(struct stamp){1, 2}, &bytes, &size),
			 SEEK_INDEX_SET_NEVER);
	assert_int_equal(account.built, 2);
	assert_int_equal(account.refused[SEEK_INDEX_E_ODD], 1);
	seek_index_set_free(set);
	seek_index_set_free(NULL);
	assert_int_equal(account.bytes, 0);
}

/* That a file is sound is kept for one state of it, within the budget. */
static void test_sound(void **state)
{
	struct seek_index_budget account = {.limit = 1 << 20};
	struct seek_index_set *set;
	(void)state;
	assert_int_equal(seek_index_set_new(&set, &account, NULL, 5000), 0);
	const struct stamp stamp = stamp_of(4999, 1);
	assert_false(seek_index_set_is_sound(set, 4999, &stamp));
	seek_index_set_found_sound(set, 4999, &stamp);
	put(set, 4999, 1, 17, 33);
	assert_true(seek_index_set_is_sound(set, 4999, &stamp));
	assert_false(seek_index_set_is_sound(set, 4998, &stamp));
	for (int i = 0; i < 2; i++) {
		struct stamp other = stamp;
		other.size += i == 0;
		other.content += i == 1;
		assert_false(seek_index_set_is_sound(set, 4999, &other));
	}
	seek_index_set_found_sound(set, 4999, &(struct stamp){1, 2});
	assert_false(seek_index_set_is_sound(set, 4999, &stamp));
	seek_index_set_free(set);
	assert_int_equal(account.bytes, 0);

	account.limit = 100;
	assert_int_equal(seek_index_set_new(&set, &account, NULL, 5000), 0);
	seek_index_set_found_sound(set, 4999, &stamp);
	assert_false(seek_index_set_is_sound(set, 4999, &stamp));
	seek_index_set_free(set);
}

/* Two sets share one budget; an index that does not fit is not added. */
static void test_budget(void **state)
{
	struct seek_index_budget account = {.limit = 100000};
	struct seek_index_set *a, *b;
	const uint8_t *bytes;
	size_t size;
	(void)state;
	assert_int_equal(seek_index_set_new(&a, &account, NULL, 1000), 0);
	assert_int_equal(seek_index_set_new(&b, &account, NULL, 1000), 0);
	for (uint64_t i = 0; i < 1000; i++) {
		put(i % 2 ? a : b, i, 1, (uint8_t)i, 150);
		assert_true(account.bytes <= account.limit);
	}
	assert_in_range(account.built, 70, 99);
	account.full = 0;
	for (uint64_t i = 0; i < 70; i++)
		check(i % 2 ? a : b, i, 1, (uint8_t)i, 150);
	assert_int_equal(find(a, 999, 1, &bytes, &size), SEEK_INDEX_SET_NEVER);
	assert_int_equal(account.full, 1);
	seek_index_set_free(b);
	assert_int_equal(find(a, 999, 1, &bytes, &size), SEEK_INDEX_SET_NONE);
	put(a, 999, 1, 3, 150);
	check(a, 999, 1, 3, 150);
	seek_index_set_free(a);
	assert_int_equal(account.bytes, 0);
}

/* The sets of one user stay within its share; what they leave is the others'. */
static void test_share(void **state)
{
	struct seek_index_budget account = {.limit = 100000};
	struct seek_index_share share = {.limit = 30000};
	struct seek_index_set *a, *again, *b;
	const uint8_t *bytes;
	size_t size;
	(void)state;
	assert_int_equal(seek_index_set_new(&a, &account, &share, 1000), 0);
	assert_int_equal(seek_index_set_new(&again, &account, &share, 1000), 0);
	assert_int_equal(seek_index_set_new(&b, &account, NULL, 1000), 0);
	for (uint64_t i = 0; i < 1000; i++)
		put(i % 2 ? a : again, i, 1, (uint8_t)i, 150);
	assert_in_range(share.bytes, 25000, 30000);
	assert_int_equal(account.bytes, share.bytes);
	assert_int_equal(find(a, 999, 1, &bytes, &size), SEEK_INDEX_SET_NEVER);
	assert_int_equal(find(b, 999, 1, &bytes, &size), SEEK_INDEX_SET_NONE);
	for (uint64_t i = 0; i < 1000; i++)
		put(b, i, 1, (uint8_t)i, 150);
	assert_in_range(account.bytes, 95000, 100000);
	seek_index_set_free(again);
	seek_index_set_free(a);
	assert_int_equal(share.bytes, 0);
	seek_index_set_free(b);
	assert_int_equal(account.bytes, 0);
}

/* An index that turns out to be too large for the room there seemed to be is counted as well. */
static void test_little_room(void **state)
{
	struct seek_index_budget account = {.limit = 8000};
	struct seek_index_set *set;
	const uint8_t *bytes;
	size_t size;
	(void)state;
	assert_int_equal(seek_index_set_new(&set, &account, NULL, 10), 0);
	assert_int_equal(find(set, 3, 1, &bytes, &size), SEEK_INDEX_SET_NONE);
	assert_false(put(set, 3, 1, 1, ROWS));
	assert_int_equal(account.full, 1);
	assert_int_equal(account.built, 0);
	seek_index_set_free(set);
	assert_int_equal(account.bytes, 0);
}

static void test_no_budget(void **state)
{
	struct seek_index_budget account = {.limit = 0};
	struct seek_index_set *set;
	const uint8_t *bytes;
	size_t size;
	(void)state;
	assert_int_equal(seek_index_set_new(&set, &account, NULL, 10), 0);
	put(set, 3, 1, 1, 10);
	assert_int_equal(find(set, 3, 1, &bytes, &size), SEEK_INDEX_SET_NEVER);
	assert_int_equal(account.built, 0);
	seek_index_set_free(set);
}

#define THREADS 4
#define SAMPLES 3000

struct racer {
	pthread_t thread;
	struct seek_index_set *set;
	int wrong;
};

/* cmocka's asserts belong to the first thread. */
static void *race(void *argument)
{
	struct racer *racer = argument;
	for (int64_t round = 0; round < 3; round++)
		for (uint64_t i = 0; i < SAMPLES; i++) {
			const uint8_t *bytes;
			size_t size;
			uint32_t rows = 8 + i % 50;
			uint8_t value = (uint8_t)(i + (uint64_t)round);
			if (find(racer->set, i, round, &bytes, &size) == SEEK_INDEX_SET_NONE)
				put(racer->set, i, round, value, rows);
			if (find(racer->set, i, round, &bytes, &size) != SEEK_INDEX_SET_INDEX)
				continue; /* another thread is a round further */
			if (size != sizeof(struct seek_index_header) + (rows + 1) * 6 ||
			    bytes[sizeof(struct seek_index_header)] != value ||
			    bytes[size - 1] != value)
				racer->wrong++;
		}
	return NULL;
}

static void test_threads(void **state)
{
	struct seek_index_budget account = {.limit = 1 << 24};
	struct racer racers[THREADS] = {0};
	struct seek_index_set *set;
	(void)state;
	assert_int_equal(seek_index_set_new(&set, &account, NULL, SAMPLES), 0);
	for (int i = 0; i < THREADS; i++) {
		racers[i].set = set;
		assert_int_equal(pthread_create(&racers[i].thread, NULL, race, &racers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(racers[i].thread, NULL), 0);
		assert_int_equal(racers[i].wrong, 0);
	}
	assert_true(account.built >= 3 * SAMPLES);
	seek_index_set_free(set);
	assert_int_equal(account.bytes, 0);
}

/* --- growth --- */

/* An index is extended in place; one of fewer rows, or of another picture, changes nothing. */
static void test_growth(void **state)
{
	struct seek_index_budget account = {.limit = 1 << 20};
	const struct stamp stamp = stamp_of(3, 1);
	struct seek_index_set *set;
	const uint8_t *bytes, *again;
	uint8_t expected[BLOB_BYTES];
	size_t size;
	(void)state;
	assert_int_equal(seek_index_set_new(&set, &account, NULL, 10), 0);
	assert_true(put_known(set, 3, 1, 7, 100, 0));
	const uint64_t charged = account.bytes;
	assert_int_equal(find(set, 3, 1, &bytes, &size), SEEK_INDEX_SET_INDEX);
	assert_false(put_known(set, 3, 1, 7, 100, 40));
	assert_false(put_known(set, 3, 1, 8, 100, 40)); /* covers no more rows */
	assert_false(put_known(set, 3, 1, 8, 100, 20));
	assert_false(put_known(set, 3, 1, 8, 101, 101)); /* another picture's */
	assert_false(put_known(set, 3, 1, 7, 100, 90));
	blob_make(expected, 100, 90, 7);
	assert_memory_equal(bytes, expected, sizeof(struct seek_index_header) + 91 * 6);
	assert_false(put_known(set, 3, 1, 7, 100, 100));
	assert_int_equal(find(set, 3, 1, &again, &size), SEEK_INDEX_SET_INDEX);
	assert_ptr_equal(again, bytes);
	check(set, 3, 1, 7, 100);
	assert_int_equal(account.bytes, charged); /* the final size was charged at once */
	assert_int_equal(account.built, 1);
	/* After a refusal the file has no index. */
	seek_index_set_refuse(set, 3, &stamp, SEEK_INDEX_E_DAMAGED);
	seek_index_set_refuse(set, 3, &stamp, SEEK_INDEX_E_DAMAGED);
	assert_int_equal(account.refused[SEEK_INDEX_E_DAMAGED], 1);
	assert_false(put_known(set, 3, 1, 7, 100, 100));
	assert_int_equal(find(set, 3, 1, &bytes, &size), SEEK_INDEX_SET_NEVER);
	seek_index_set_free(set);
	assert_int_equal(account.bytes, 0);
}

/* Loads the indexes of seek_index_set_each() into another set. */
struct mover {
	struct seek_index_set *to;
	unsigned moved, stop;
};

static int move(void *context, uint64_t sample, const struct stamp *stamp, const uint8_t *bytes,
		size_t size)
{
	struct mover *mover = context;
	if (mover->moved == mover->stop)
		return 17;
	uint8_t *elsewhere = malloc(size + 1); /* at an odd address, with no byte more */
	if (!elsewhere)
		return -ENOMEM;
	memcpy(elsewhere + 1, bytes, size);
	mover->moved += seek_index_set_load(mover->to, sample, stamp, elsewhere + 1, size);
	free(elsewhere);
	return 0;
}

static void test_from_set_to_set(void **state)
{
	struct seek_index_budget account = {.limit = 1 << 20};
	struct seek_index_set *a, *b;
	struct mover mover = {.stop = 4};
	(void)state;
	assert_int_equal(seek_index_set_new(&a, &account, NULL, 5000), 0);
	assert_int_equal(seek_index_set_new(&b, &account, NULL, 5000), 0);
	for (uint64_t i = 0; i < 4; i++)
		put_known(a, i * 1500, 1, (uint8_t)i, 50, (uint32_t)i * 16);
	seek_index_set_refuse(a, 7, &(struct stamp){1, 2}, SEEK_INDEX_E_ODD);
	mover.to = b;
	assert_int_equal(seek_index_set_each(a, move, &mover), 0);
	assert_int_equal(mover.moved, 4);
	assert_int_equal(account.built, 4); /* a loaded index is not counted as built */
	for (uint64_t i = 0; i < 4; i++) {
		assert_false(put_known(b, i * 1500, 1, (uint8_t)i, 50, 50));
		check(b, i * 1500, 1, (uint8_t)i, 50);
	}
	assert_int_equal(seek_index_set_each(a, move, &mover), 17);
	seek_index_set_free(a);
	seek_index_set_free(b);
	assert_int_equal(account.bytes, 0);
}

/* A wrong byte in the header, or a wrong size: not an index. */
static void test_no_index(void **state)
{
	struct seek_index_budget account = {.limit = 1 << 20};
	const struct stamp stamp = stamp_of(0, 1);
	struct seek_index_set *set;
	uint8_t bytes[BLOB_BYTES + 1] = {0};
	size_t size = blob_make(bytes, 50, 50, 3);
	(void)state;
	assert_int_equal(seek_index_set_new(&set, &account, NULL, 1), 0);
	for (size_t less = 0; less < size; less++)
		assert_false(seek_index_set_load(set, 0, &stamp, bytes, less));
	assert_false(seek_index_set_load(set, 0, &stamp, bytes, size + 1));
	assert_false(seek_index_set_load(set, 1, &stamp, bytes, size)); /* no such sample */
	struct seek_index_header header;
	for (unsigned i = 0; i < 7; i++) {
		memcpy(&header, bytes, sizeof(header));
		header.magic ^= i == 0;
		header.bytes += i == 1;
		header.height += i == 2 ? 8 : 0;
		header.components = i == 3 ? 0 : i == 4 ? 5 : 1;
		header.group += i == 5;
		header.known += i == 6;
		uint8_t changed[BLOB_BYTES];
		memcpy(changed, bytes, size);
		memcpy(changed, &header, sizeof(header));
		assert_false(seek_index_set_load(set, 0, &stamp, changed, size));
	}
	assert_true(seek_index_set_load(set, 0, &stamp, bytes, size));
	seek_index_set_free(set);
}

#define GROWING 20 /* samples */

/* Extends indexes while other threads extend and copy them. */
static void *grow(void *argument)
{
	struct racer *racer = argument;
	struct buffer copy = BUFFER_NULL;
	for (uint32_t known = 0; known <= ROWS; known += 7)
		for (uint64_t i = 0; i < GROWING; i++) {
			const uint8_t *bytes;
			struct seek_index_header header;
			size_t size;
			put_known(racer->set, i, 1, (uint8_t)(i + 1), ROWS, known);
			if (find(racer->set, i, 1, &bytes, &size) != SEEK_INDEX_SET_INDEX ||
			    seek_index_copy(&copy, bytes)) {
				racer->wrong++;
				continue;
			}
			memcpy(&header, copy.data, sizeof(header));
			racer->wrong += copy.size != sizeof(header) + (header.known + 1) * 6;
			for (size_t k = sizeof(header); k < copy.size; k++)
				racer->wrong += copy.data[k] != i + 1;
		}
	buffer_deinit(&copy);
	return NULL;
}

static void test_growth_in_threads(void **state)
{
	struct seek_index_budget account = {.limit = 1 << 24};
	struct racer racers[THREADS] = {0};
	struct seek_index_set *set;
	(void)state;
	assert_int_equal(seek_index_set_new(&set, &account, NULL, GROWING), 0);
	for (int i = 0; i < THREADS; i++) {
		racers[i].set = set;
		assert_int_equal(pthread_create(&racers[i].thread, NULL, grow, &racers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(racers[i].thread, NULL), 0);
		assert_int_equal(racers[i].wrong, 0);
	}
	assert_int_equal(account.built, GROWING);
	for (uint64_t i = 0; i < GROWING; i++) {
		put_known(set, i, 1, (uint8_t)(i + 1), ROWS, ROWS);
		check(set, i, 1, (uint8_t)(i + 1), ROWS);
	}
	seek_index_set_free(set);
	assert_int_equal(account.bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_states_of_a_file),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_little_room),
		cmocka_unit_test(test_no_budget),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_from_set_to_set),
		cmocka_unit_test(test_no_index),
		cmocka_unit_test(test_growth_in_threads),
		cmocka_unit_test(test_sound),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
