/* SPDX-License-Identifier: MIT */
/* JSON of tokens: all digits of a number, escapes, and what is none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/jsontext.h"
#include "tests/unit/test.h"

/* Read, and written again; NULL: it is no JSON. The caller frees it. */
static char *again(const char *json)
{
	struct packer *packer;
	struct unpacker *unpacker;
	const struct value *value;
	const char *why;
	struct text bytes;
	char *out = NULL;
	size_t size;
	assert_int_equal(packer_new(&packer), 0);
	assert_int_equal(unpacker_new(&unpacker), 0);
	if (jsontext_read(packer, json) && packer_bytes(packer, &bytes) == 0 &&
	    unpack(unpacker, (const uint8_t *)bytes.data, bytes.size, &value, &why) == 0) {
		FILE *file = open_memstream(&out, &size);
		assert_non_null(file);
		jsontext_write(file, value);
		assert_int_equal(fclose(file), 0);
	}
	packer_free(packer);
	unpacker_free(unpacker);
	return out;
}

static void test_values(void **state)
{
	static const char *const rows[][2] = {
		{"{}", "{}"},
		{" { \"a\" : [ 1 , -2,true,false ,null ] , \"b\": { \"c\": \"d\" } } ",
		 "{\"a\": [1, -2, true, false, null], \"b\": {\"c\": \"d\"}}"},
		{"[18446744073709551615, 9007199254740993, -9223372036854775808]",
		 "[18446744073709551615, 9007199254740993, -9223372036854775808]"},
		{"[0.1, 1.0, 1e3, -2.5E-3]", "[0.10000000000000001, 1.0, 1000.0, "
					     "-0.0025000000000000001]"},
		{"\"a\\\"\\\\\\n\\u00e9\\u20ac\"", "\"a\\\"\\\\\\u000a\xc3\xa9\xe2\x82\xac\""},
		{"[[]]", "[[]]"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *out = again(rows[i][0]);
		assert_non_null(out);
		assert_string_equal(out, rows[i][1]);
		free(out);
	}
}

static void test_what_is_none(void **state)
{
	static const char *const rows[] = {
		"",
		" ",
		"{",
		"[",
		"\"",
		"\"a\\",
		"\"\\u12\"",
		"\"\\x\"",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\": 1,}",
		"[1,]",
		"[1 2]",
		"{1: 2}",
		"1 2",
		"truth",
		"-",
		"1.2.3",
		"+e",
		"18446744073709551616",
		"-9223372036854775809",
		"1e999",
		"{\"a\": 1, \"a\": 2}",
		"nan",
		"\xff",
	};
	char deep[100];
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *out = again(rows[i]);
		if (out)
			fail_msg("%s is %s", rows[i], out);
	}
	memset(deep, '[', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	assert_null(again(deep));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_what_is_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
