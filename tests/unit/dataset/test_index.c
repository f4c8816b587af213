// SPDX-License-Identifier: MIT
/*
 * The packed index, its fingerprint, and quoting of hostile text in messages.
 */
#include "base/quote.h"
#include "dataset/index.h"
#include "tests/unit/dataset/opened.h"
#include "tests/unit/test.h"

/* The index. */

static void test_fingerprint(void **state)
{
	(void)state;
	put("one/a/1.jpg", "1");
	put("one/b/2.jpg", "22");
	put("two/b/2.jpg", "zz");
	put("two/a/1.jpg", "z");
	struct dataset *one = must_open(at("one")), *two = must_open(at("two"));
	struct digest first = dataset_fingerprint(one), second = dataset_fingerprint(two);
	assert_true(digest_equal(&first, &second)); /* names and sizes, not place or content */
	dataset_free(two);
	put("two/a/1.jpg", "zz");
	two = must_open(at("two"));
	second = dataset_fingerprint(two);
	assert_false(digest_equal(&first, &second));
	dataset_free(one);
	dataset_free(two);

	put("1.txt", "a/b 1\n");
	put("2.csv", "label,path\n1,a/b\n");
	put("3.txt", "a/b 1.0\n");
	one = must_open(at("1.txt"));
	two = must_open(at("2.csv"));
	first = dataset_fingerprint(one), second = dataset_fingerprint(two);
	assert_true(digest_equal(&first, &second)); /* what it says, not how */
	dataset_free(two);
	two = must_open(at("3.txt"));
	second = dataset_fingerprint(two);
	assert_false(digest_equal(&first, &second));
	dataset_free(one);
	dataset_free(two);
}

/* The sequence that index.h documents, written out by hand. */
static void test_fingerprint_stream(void **state)
{
	(void)state;
	struct digest_state *digest;
	assert_int_equal(digest_begin(&digest), 0);
	static const char *const texts[] = {"stoker dataset 1", "folder", "cat", "cat/x/1.jpg"};
	static const uint64_t before[] = {0, 0, 1, 2};
	for (size_t i = 0; i < 4; i++) {
		if (before[i])
			digest_add_u64(digest, before[i]);
		digest_add_u64(digest, strlen(texts[i]));
		digest_add(digest, texts[i], strlen(texts[i]));
	}
	static const uint64_t numbers[] = {5, 0, 4, 1}; /* size, class; end: samples */
	for (size_t i = 0; i < 4; i++)
		digest_add_u64(digest, numbers[i]);
	struct digest expected = digest_end(digest);
	put("cat/x/1.jpg", "12345");
	struct dataset *dataset = must_open(top);
	struct digest found = dataset_fingerprint(dataset);
	assert_true(digest_equal(&found, &expected));
	dataset_free(dataset);
}

static void test_path_is_cut(void **state)
{
	(void)state;
	put("class/name.jpg", "1");
	struct dataset *dataset = must_open(top);
	char path[32];
	for (size_t size = 0; size < 20; size++) {
		memset(path, '#', sizeof(path));
		assert_int_equal(dataset_path(dataset, 0, path, size), 14);
		size_t kept = size == 0 ? 0 : size - 1 < 14 ? size - 1 : 14;
		assert_memory_equal(path, "class/name.jpg", kept);
		assert_int_equal(path[kept], size ? '\0' : '#');
		assert_int_equal(path[size], '#');
	}
	dataset_free(dataset);
}

/* 1.3 million names like ImageNet's: how much memory a sample takes. */
static void test_index_size(void **state)
{
	(void)state;
	const uint64_t classes = 1000, each = 1300;
	struct index *index;
	assert_int_equal(index_new(&index, "folder"), 0);
	for (uint32_t class = 0; class < classes; class ++) {
		char name[64];
		uint32_t directory;
		int size = sprintf(name, "n%08u", 1440764 + class * 13);
		assert_int_equal(index_add_class(index, name, (size_t)size), 0);
		assert_int_equal(index_add_directory(index, name, (size_t)size, class, &directory),
				 0);
		for (unsigned i = 0; i < each; i++) {
			size = sprintf(name, "n%08u_%u.JPEG", 1440764 + class * 13, 10000 + i);
			assert_int_equal(index_add(index, directory, name, (size_t)size, 1), 0);
			assert_int_equal(index_add_glance(index, i % 3), 0);
		}
	}
	index_finish(index);
	assert_int_equal(index_count(index), classes * each);
	double sample = (double)index_bytes(index) / (double)(classes * each);
	print_message("%.1f bytes a sample\n", sample);
	assert_true(sample <= 16 + 20.2); /* the name's bytes */
	assert_int_equal(index_glance(index, 999 * 1300 + 6), 0);
	assert_int_equal(index_glance(index, 999 * 1300 + 8), 2);
	assert_int_equal(index_glance(index, 1000 * 1300), 0);
	char path[64];
	index_path(index, 999 * 1300 + 7, path, sizeof(path));
	assert_string_equal(path, "n01453751/n01453751_10007.JPEG");
	assert_int_equal(index_class(index, 999 * 1300 + 7), 999);
	index_free(index);
}

static void test_find_directory(void **state)
{
	(void)state;
	struct index *index;
	uint32_t number;
	char path[32];
	assert_int_equal(index_new(&index, "manifest"), 0);
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 5000; i++) {
			int size = sprintf(path, "%.*s%u", i ? 3 : 0, "dir", i);
			assert_int_equal(index_find_directory(index, path, (size_t)size, &number),
					 0);
			assert_int_equal(number, i);
		}
	}
	index_free(index);
	index_free(NULL);
}

static void test_quote(void **state)
{
	(void)state;
	struct quote quote;
	assert_string_equal(quote_text(&quote, "h\xc3\xa9llo \xf0\x9f\x90\x88"),
			    "h\xc3\xa9llo \xf0\x9f\x90\x88");
	assert_string_equal(quote_bytes(&quote, "a\0\n\x7f\xff\xc3", 6),
			    "a\\x00\\x0a\\x7f\\xff\\xc3");
	/* Overlong, surrogate, beyond U+10FFFF. */
	assert_string_equal(quote_text(&quote, "\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80"),
			    "\\xc0\\xaf\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80");
	char path[1000];
	memset(path, '/', sizeof(path));
	memcpy(path + 990, "end.jpg", 8);
	quote_text(&quote, path);
	assert_true(strlen(quote.text) <= QUOTE_MAX);
	assert_memory_equal(quote.text, "...///", 6);
	assert_non_null(strstr(quote.text, "/end.jpg"));
	memset(path, 1, sizeof(path));
	assert_true(strlen(quote_bytes(&quote, path, sizeof(path))) <= QUOTE_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_CASE(test_fingerprint),	       TREE_CASE(test_fingerprint_stream),
		TREE_CASE(test_path_is_cut),	       cmocka_unit_test(test_index_size),
		cmocka_unit_test(test_find_directory), cmocka_unit_test(test_quote),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
