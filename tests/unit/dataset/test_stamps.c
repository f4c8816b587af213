// SPDX-License-Identifier: MIT
/*
 * What tells one state of a file from another: its stamp, and that a file which was read before has
 * changed.
 */
#include <fcntl.h>
#include <unistd.h>

#include "tests/unit/dataset/opened.h"
#include "tests/unit/test.h"

static struct stamp read_stamp(const struct dataset *dataset, uint64_t sample)
{
	struct buffer buffer = BUFFER_NULL;
	struct stamp stamp = {0};
	assert_int_equal(dataset_read(dataset, sample, LIMIT, &buffer, &stamp, &fault), 0);
	buffer_deinit(&buffer);
	return stamp;
}

/* A stamp is of the content, under the dataset's secret. */
static void test_stamps(void **state)
{
	(void)state;
	put("c/1.jpg", "content");
	put("c/2.jpg", "content");
	put("c/3.jpg", "Content");
	struct dataset *dataset = must_open(top), *other = must_open(top);
	struct digest_secret secret;
	const struct stamp one = read_stamp(dataset, 0), two = read_stamp(dataset, 1),
			   three = read_stamp(dataset, 2), random = read_stamp(other, 0);
	assert_true(stamp_equal(&one, &two));
	assert_false(stamp_equal(&one, &three));
	assert_false(stamp_equal(&one, &random));
	assert_int_equal(chmod(at("c/1.jpg"), 0600), 0);
	assert_int_equal(link(at("c/2.jpg"), at("link")), 0);
	for (int times = 0; times < 2; times++) {
		struct stamp again = read_stamp(dataset, 0), linked = read_stamp(dataset, 1);
		assert_true(stamp_equal(&again, &one) && stamp_equal(&linked, &one));
	}
	dataset_free(other);
	const char *const parts[] = {top, top};
	assert_int_equal(open_joined(&other, parts, 2), 0);
	assert_int_equal(digest_secret_make(&secret), 0);
	dataset_set_secret(other, &secret);
	const struct stamp first = read_stamp(other, 0), second = read_stamp(other, 3);
	assert_true(stamp_equal(&first, &second));
	assert_false(stamp_equal(&first, &one));
	dataset_free(other);
	dataset_free(dataset);
}

/* Is the stamp known by the file's version alone? Then it is that of the last read. */
static bool kept(const struct dataset *dataset, uint64_t sample, const struct stamp *last)
{
	struct stamp stamp;
	bool known = dataset_stamp_kept(dataset, sample, &stamp);
	assert_true(!known || stamp_equal(&stamp, last));
	return known;
}

static void test_stamps_without_a_read(void **state)
{
	(void)state;
	put("c/1.jpg", "content");
	put("c/2.jpg", "another");
	put("c/3.jpg", "a third");
	struct dataset *joined;
	const char *const parts[] = {top, top};
	assert_int_equal(open_joined(&joined, parts, 2), 0);
	assert_false(kept(joined, 4, NULL));
	const struct stamp stamp = read_stamp(joined, 4), third = read_stamp(joined, 5);
	assert_true(kept(joined, 4, &stamp) && kept(joined, 5, &third));
	assert_false(kept(joined, 1, NULL)); /* the same file in the other part */
	assert_int_equal(chmod(at("c/2.jpg"), 0600), 0);
	assert_false(kept(joined, 4, NULL)); /* only its content can tell */
	assert_true(
		stamp_equal(&stamp, &(struct stamp){stamp.size, read_stamp(joined, 4).content}));
	assert_true(kept(joined, 4, &stamp));
	put("c/2.jpg", "changed");
	assert_int_equal(unlink(at("c/3.jpg")), 0);
	assert_false(kept(joined, 4, NULL) || kept(joined, 5, NULL));
	dataset_free(joined);
}

/* A file that was just written is written again, in the same tick of the clock, in place, to the
 * same size, under the same modification time. */
static void test_read_within_a_tick(void **state)
{
	(void)state;
	struct buffer buffer = BUFFER_NULL;
	for (int times = 0; times < 20; times++) {
		struct stat stat_of;
		put("c/1.jpg", "content");
		struct dataset *dataset = must_open(top);
		(void)read_stamp(dataset, 0);
		assert_int_equal(stat(at("c/1.jpg"), &stat_of), 0);
		put("c/1.jpg", "Content");
		const struct timespec old[] = {stat_of.st_atim, stat_of.st_mtim};
		assert_int_equal(utimensat(AT_FDCWD, at("c/1.jpg"), old, 0), 0);
		assert_int_equal(dataset_read(dataset, 0, LIMIT, &buffer, NULL, &fault),
				 DATASET_E_CHANGED);
		assert_words("c/1.jpg is not the file that was read before");
		dataset_free(dataset);
	}
	buffer_deinit(&buffer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_CASE(test_stamps),
		TREE_CASE(test_stamps_without_a_read),
		TREE_CASE(test_read_within_a_tick),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
