// SPDX-License-Identifier: MIT
/* URLs of data: what is tidied, refused and encoded. */
#include <string.h>

#include "base/url.h"
#include "tests/unit/test.h"

static void test_tidy(void **state)
{
	(void)state;
	static const struct {
		const char *from, *to;
	} cases[] = {
		{"HTTP://Host.Example:80/A/b//", "http://host.example/A/b"},
		{"https://host:443", "https://host"},
		{"https://host:80/x", "https://host:80/x"},
		{"http://host:8080/", "http://host:8080"},
		{"S3://bucket/Key//deep/", "s3://bucket/Key//deep"},
		{"s3://", "s3://"},
		{"http:///", "http://"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[64];
		strcpy(text, cases[i].from);
		url_tidy(text);
		assert_string_equal(text, cases[i].to);
	}
	assert_int_equal(url_scheme("/data/http://x"), URL_NONE);
	assert_int_equal(url_scheme("httpx://x"), URL_NONE);
}

static void test_refused(void **state)
{
	(void)state;
	static const struct {
		const char *url, *words;
	} cases[] = {
		{"http://me:hunter2@host/x", "user or a password"},
		{"s3://key@bucket/x", "user or a password"},
		{"https://host/x?X-Amz-Signature=hunter2", "query"},
		{"https://host/x#part", "fragment"},
		{"http:///x", "no host"},
		{"http://:80/x", "no host"},
		{"s3:///x", "no bucket"},
		{"http://host:port/x", "port"},
		{"http://host:/x", "no host"},
		{"http://[::1]/x", "IPv6"},
		{"http://a\nb/x", "letters"},
		{"s3://a b/x", "letters"},
		{"s3://../other/x", "more than dots"},
		{"s3://.", "more than dots"},
		{"http://host/a/../b", ". or .."},
		{"http://host/a/..", ". or .."},
		{"http://host/a/%2e%2E/b", ". or .."},
		{"http://host/a%2f..%5cb", ". or .."},
		{"http://host/./b", ". or .."},
		{"s3://bucket/a/../b", ". or .."},
		{"http://host/a%00b", "control"},
		{"http://host/a\nb", "control"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *why = url_refuse(cases[i].url);
		if (!why || !strstr(why, cases[i].words))
			fail_msg("%s: %s", cases[i].url, why ? why : "not refused");
		assert_null(strstr(why, "hunter2"));
	}
	static const char *const good[] = {
		"http://host/...",	 "http://host/a..b/.c",	    "s3://bucket",
		"s3://bucket/a%2e%2e?x", "https://10.0.0.1:9000/x", "http://host/%",
		"s3://b.u-c_k/\xc3\xa9"};
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (url_refuse(good[i]))
			fail_msg("%s: %s", good[i], url_refuse(good[i]));
}

static void test_encode(void **state)
{
	(void)state;
	static const char path[] = "/a b/%41%4%/+=&\xc3\xa9~._-";
	char out[3 * sizeof(path)];
	url_encode(out, path, strlen(path), false);
	assert_string_equal(out, "/a%20b/%41%254%25/%2B%3D%26%C3%A9~._-");
	size_t size = url_encode(out, path, strlen(path), true);
	assert_int_equal(size, strlen(out));
	assert_string_equal(out, "/a%20b/%2541%254%25/%2B%3D%26%C3%A9~._-");
}

static void test_beneath(void **state)
{
	(void)state;
	assert_true(url_is_beneath("s3://b/a/c", "s3://b/a"));
	assert_true(url_is_beneath("s3://b/a", "s3://b/a"));
	assert_false(url_is_beneath("s3://b/ab", "s3://b/a"));
	assert_false(url_is_beneath("s3://bb", "s3://b"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tidy),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_encode),
		cmocka_unit_test(test_beneath),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
