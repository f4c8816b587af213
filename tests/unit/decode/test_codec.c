// SPDX-License-Identifier: MIT
/* The table of codecs: no row lacks a function, and each image belongs to one row. */
#include <stdlib.h>
#include <string.h>

#include "decode/codec.h"
#include "tests/unit/pictures.h"
#include "tests/unit/test.h"

/* The function that a row lacks, or NULL. */
static const char *missing(const struct codec *codec)
{
	bool state = codec->state_new || codec->end || codec->state_free;
	return !codec->name		     ? "name"
	       : !codec->accepts	     ? "accepts"
	       : !codec->begin		     ? "begin"
	       : !codec->read		     ? "read"
	       : state && !codec->state_new  ? "state_new"
	       : state && !codec->end	     ? "end"
	       : state && !codec->state_free ? "state_free"
					     : NULL;
}

static void test_rows_are_complete(void **state)
{
	(void)state;
	assert_non_null(codecs[0]);
	for (size_t i = 0; codecs[i]; i++)
		if (missing(codecs[i]))
			fail_msg("row %zu lacks %s()", i, missing(codecs[i]));
}

/* The check above can fail. */
static void test_a_missing_function_is_found(void **state)
{
	struct codec codec = *codecs[0];
	(void)state;
	assert_null(missing(&codec));
	codec.end = NULL;
	assert_string_equal(missing(&codec), "end");
	codec.state_new = NULL;
	assert_string_equal(missing(&codec), "state_new");
	codec.state_free = NULL;
	assert_null(missing(&codec));
	codec.read = NULL;
	assert_string_equal(missing(&codec), "read");
	codec.begin = NULL;
	assert_string_equal(missing(&codec), "begin");
	codec.accepts = NULL;
	assert_string_equal(missing(&codec), "accepts");
}

static void test_an_image_belongs_to_one_row(void **state)
{
	const struct jpeg_recipe recipe = {20, 10, 3, 2, 2, JPEG_BASELINE};
	struct picture pictures[] = {picture_jpeg(&recipe),	   picture_png(20, 10, 2, 8, false),
				     picture_webp(20, 10, false),  picture_bytes("BM"),
				     picture_bytes("P1 1 1 0"),	   picture_bytes("GIF89a"),
				     picture_bytes("sizeftypavif")};
	static const char *const names[] = {"JPEG", "PNG", "WebP", "BMP", "PNM", "GIF", "AVIF"};
	(void)state;
	for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++) {
		unsigned rows = 0;
		for (size_t i = 0; codecs[i]; i++) {
			if (!codecs[i]->accepts(pictures[k].data, pictures[k].size))
				continue;
			assert_string_equal(codecs[i]->name, names[k]);
			rows++;
		}
		assert_int_equal(rows, 1);
		free(pictures[k].data);
	}
	for (size_t i = 0; codecs[i]; i++)
		for (size_t size = 0; size < 16; size++)
			assert_false(codecs[i]->accepts((const uint8_t *)"nothing of these", size));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_are_complete),
		cmocka_unit_test(test_a_missing_function_is_found),
		cmocka_unit_test(test_an_image_belongs_to_one_row),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
