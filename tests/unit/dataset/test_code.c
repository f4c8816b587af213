// SPDX-License-Identifier: MIT
/* The kind code: the sizes of its shards. */
#include "tests/unit/dataset/opened.h"

static int open_code(struct dataset **out, const char *samples, const char *shards)
{
	struct pair pairs[] = {pair("path", "code:x"), pair("kind", "code"), pair("code", "it"),
			       pair("samples", samples), pair("shards", shards ? shards : "")};
	struct dataset_spec spec;
	struct dataset_progress progress = {0};
	assert_int_equal(parse(&spec, pairs, shards ? 5 : 4), 0);
	int result = dataset_open(out, &spec, &progress, &fault);
	dataset_spec_deinit(&spec);
	return result;
}

static struct digest fingerprint_of(const char *shards)
{
	struct dataset *dataset;
	assert_int_equal(open_code(&dataset, "10", shards), 0);
	struct digest found = dataset_fingerprint(dataset);
	dataset_free(dataset);
	return found;
}

static void test_sizes(void **state)
{
	(void)state;
	static const uint64_t firsts[] = {0, 3, 6, 7, 9, 10};
	struct dataset *dataset;
	assert_int_equal(open_code(&dataset, "10", "3x2 1 2x1 1"), 0);
	assert_int_equal(dataset_shard_count(dataset), 5);
	for (uint32_t i = 0; i <= 5; i++)
		assert_int_equal(dataset_shard_first(dataset, i), firsts[i]);
	dataset_free(dataset);
	assert_int_equal(open_code(&dataset, "10", NULL), 0);
	assert_int_equal(dataset_shard_count(dataset), 0);
	dataset_free(dataset);
	assert_int_equal(open_code(&dataset, "1048576", "1x1048576"), 0);
	assert_int_equal(dataset_shard_count(dataset), 1 << 20);
	assert_int_equal(dataset_shard_first(dataset, 1 << 20), 1 << 20);
	dataset_free(dataset);
}

static void test_fingerprint(void **state)
{
	(void)state;
	struct digest one = fingerprint_of("5x2"), same = fingerprint_of("5 5"),
		      other = fingerprint_of("4 6"), none = fingerprint_of(NULL);
	assert_memory_equal(&one, &same, sizeof(one));
	assert_memory_not_equal(&one, &other, sizeof(one));
	assert_memory_not_equal(&one, &none, sizeof(one));
}

static void test_refused(void **state)
{
	(void)state;
	static const char *const wrong[] = {"x",
					    "5x",
					    "x2",
					    "5x2 ",
					    " 5x2",
					    "5  5",
					    "5x0 10",
					    "0x2 10",
					    "-5 15",
					    "+5 5",
					    "5x2x1",
					    "5,5",
					    "5 five",
					    "5x2\n",
					    "0x10",
					    "268435457",
					    "99999999999999999999",
					    "1x99999999999999999999",
					    "10x1048577"};
	struct dataset *dataset;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		print_message("'%s'\n", wrong[i]);
		assert_int_equal(open_code(&dataset, "10", wrong[i]), DATASET_E_OPEN);
		assert_words("'shards' must be the sizes");
	}
	assert_int_equal(open_code(&dataset, "10", "5 4"), DATASET_E_OPEN);
	assert_words("'shards' has 9 samples, and 'samples' is 10");
	assert_int_equal(open_code(&dataset, "10", "268435456x1048576"), DATASET_E_OPEN);
	assert_words("'samples' is 10");
	assert_int_equal(open_code(&dataset, "10", "1x1048576 1x1048576"), DATASET_E_OPEN);
	assert_words("more than 1048576 shards");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_fingerprint),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
