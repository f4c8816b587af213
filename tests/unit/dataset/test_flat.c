// SPDX-License-Identifier: MIT
/*
 * Folders without classes, and what is said of pictures that are not decoded.
 */
#include "tests/unit/dataset/opened.h"

#include <unistd.h>

#include "base/digest.h"

static struct dataset *must_open_flat(const char *path)
{
	struct dataset *dataset;
	if (open_with(&dataset, path, "kind", "flat"))
		fail_msg("%s", fault.text);
	return dataset;
}

static void test_flat(void **state)
{
	(void)state;
	put("data/z.jpg", "zz");
	put("data/a/2.PNG", "two");
	put("data/a/1.jpg", "one");
	put("data/a/deep/0.jpg", "deep");
	put("data/notes.txt", "no picture");
	assert_int_equal(symlink("a", at("data/linked")), 0);
	assert_int_equal(symlink(".", at("data/loop")), 0);
	assert_int_equal(symlink("../a", at("data/a/loop")), 0);
	assert_int_equal(mkfifo(at("data/fifo.jpg"), 0600), 0);
	static const char *const paths[] = {
		"z.jpg",	"a/1.jpg",	"a/2.PNG",	    "a/deep/0.jpg",
		"linked/1.jpg", "linked/2.PNG", "linked/deep/0.jpg"};
	struct buffer buffer = BUFFER_NULL;
	struct dataset *dataset = must_open_flat(at("data"));
	assert_string_equal(dataset_kind_name(dataset), "flat");
	assert_int_equal(dataset_count(dataset), 7);
	assert_int_equal(dataset_class_count(dataset), 0);
	assert_int_equal(dataset_skipped(dataset), 4); /* the FIFO and three loops */
	for (uint64_t i = 0; i < 7; i++)
		assert_sample(dataset, i, paths[i], 0);
	assert_int_equal(dataset_read(dataset, 2, LIMIT, &buffer, NULL, &fault), 0);
	assert_memory_equal(buffer.data, "two", 3);
	buffer_deinit(&buffer);
	dataset_free(dataset);
}

static void test_flat_refusals(void **state)
{
	(void)state;
	struct dataset *dataset;
	put("out/x.jpg", "x");
	put("data/notes.txt", "no picture");
	assert_int_equal(open_with(&dataset, at("data"), "kind", "flat"), DATASET_E_OPEN);
	assert_words("data: there is no image in the folder: their names end in one of .jpg");
	assert_int_equal(symlink("../out/x.jpg", at("data/x.jpg")), 0);
	assert_int_equal(open_with(&dataset, at("data"), "kind", "flat"), DATASET_E_OPEN);
	assert_words("x.jpg is a symbolic link that leads out");
	assert_int_equal(rename(at("data/x.jpg"), at("data/x")), 0); /* it may be a folder */
	assert_int_equal(open_with(&dataset, at("data"), "kind", "flat"), DATASET_E_OPEN);
	assert_words("x is a symbolic link that leads out");
	put("plain/1.jpg", "1");
	assert_refused(at("plain"), DATASET_E_OPEN, "there is no class folder");
	assert_words("kind = flat");
}

/* The name of a file is all that indexing looks at. */
static void test_note(void **state)
{
	(void)state;
	put("data/a/1.jpg", "1");
	put("data/a/2.jpg", "2");
	put("data/a/3.HEIC", "3");
	put("data/a/4.txt", "4");
	put("data/readme.gif", "beside the classes");
	struct dataset *dataset = must_open(at("data"));
	assert_int_equal(dataset_count(dataset), 2);
	assert_string_equal(
		dataset_note(dataset),
		"1 of 3 files is .heic, which stoker does not decode: they are left out, "
		"as by torchvision; convert them to JPEG, PNG or WebP");
	dataset_free(dataset);
	put("data/b/5.heic", "5");
	put("data/b/6.jxl", "6");
	put("data/b/7.tif", "7");
	dataset = must_open(at("data"));
	assert_int_equal(dataset_count(dataset), 3);
	assert_string_equal(
		dataset_note(dataset),
		"2 of 6 files are .heic, 1 .jxl, which stoker does not decode: they are "
		"left out, as by torchvision; convert them to JPEG, PNG or WebP");
	dataset_free(dataset);
	/* All that a list names are samples. */
	put("list.jsonl", "{\"path\": \"a/3.HEIC\", \"label\": 1, \"id\": 5}\n"
			  "{\"path\": \"a/1.jpg\", \"label\": 1, \"id\": 6}\n");
	dataset = must_open(at("list.jsonl"));
	assert_string_equal(
		dataset_note(dataset),
		"these keys of the manifest's rows are not used: 'id'; 1 of 2 files is "
		".heic, which stoker does not decode: unless they hold JPEG, PNG or WebP, "
		"each is a bad sample; convert them to JPEG, PNG or WebP");
	dataset_free(dataset);
	put("good/a/1.jpg", "1");
	put("good/a/2.png", "2");
	put("good/a/3.webp", "3");
	put("good/a/4.JPEG", "4");
	dataset = must_open(at("good"));
	assert_string_equal(dataset_note(dataset), "");
	dataset_free(dataset);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_CASE(test_flat),
		TREE_CASE(test_flat_refusals),
		TREE_CASE(test_note),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
