// SPDX-License-Identifier: MIT
/* Heads of HTTP requests: whole, in parts, wrong, too large. */
#include <stdio.h>
#include <string.h>

#include "loop/watch/http_request.h"
#include "tests/unit/test.h"

static struct http_request request;

static int parse(const char *text)
{
	return http_request_parse(&request, text, strlen(text));
}

static void test_a_request(void **state)
{
	(void)state;
	assert_int_equal(parse("GET /live.json?now=1 HTTP/1.1\r\nHOST: localhost:9736\r\n"
			       "accept:text/plain \r\nAuthorization: bearer  abc\r\n\r\n"),
			 0);
	assert_string_equal(request.path, "/live.json");
	assert_string_equal(request.host, "localhost:9736");
	assert_string_equal(request.accept, "text/plain");
	assert_string_equal(request.token, "abc");
	assert_false(request.head);
	assert_int_equal(parse("HEAD / HTTP/1.0\n\n"), 0);
	assert_true(request.head);
	assert_string_equal(request.host, "");
}

static void test_in_parts(void **state)
{
	static const char text[] = "GET / HTTP/1.1\r\nHost: localhost\r\nX: y\r\n\r\n";
	(void)state;
	for (size_t size = 0; size < strlen(text); size++)
		assert_int_equal(http_request_parse(&request, text, size), HTTP_REQUEST_E_MORE);
	assert_int_equal(parse(text), 0);
}

static void test_wrong(void **state)
{
	static const struct {
		const char *text;
		int condition;
	} rows[] = {
		{"POST / HTTP/1.1\r\n", HTTP_REQUEST_E_METHOD},
		{"get / HTTP/1.1\r\n", HTTP_REQUEST_E_METHOD},
		{"GET /\r\n", HTTP_REQUEST_E_BAD},
		{"GET / HTTP/2.0\r\n", HTTP_REQUEST_E_BAD},
		{"GET / HTTP/1.1 x\r\n", HTTP_REQUEST_E_BAD},
		{"GET metrics HTTP/1.1\r\n", HTTP_REQUEST_E_BAD},
		{"GET  HTTP/1.1\r\n", HTTP_REQUEST_E_BAD},
		{"\r\nGET / HTTP/1.1\r\n", HTTP_REQUEST_E_BAD},
		{"GET / HTTP/1.1\r\nno colon\r\n", HTTP_REQUEST_E_BAD},
		{"GET / HTTP/1.1\r\n: nothing\r\n", HTTP_REQUEST_E_BAD},
		{"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n", HTTP_REQUEST_E_BAD},
		{"GET /\001 HTTP/1.1\r\n", HTTP_REQUEST_E_BAD},
		{"GET / HTTP/1.1\r\nX: a\rb\r\n", HTTP_REQUEST_E_BAD},
	};
	char path[200], wide[HTTP_HEAD_MAX];
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(parse(rows[i].text), rows[i].condition);
	snprintf(path, sizeof(path), "GET /%0100d HTTP/1.1\r\n", 0);
	assert_int_equal(parse(path), HTTP_REQUEST_E_PATH);
	memset(wide, 'a', sizeof(wide));
	assert_int_equal(http_request_parse(&request, wide, sizeof(wide)), HTTP_REQUEST_E_LARGE);
	size_t size = (size_t)snprintf(wide, sizeof(wide), "GET / HTTP/1.1\r\n");
	for (int i = 0; i <= HTTP_HEADERS_MAX; i++)
		size += (size_t)snprintf(wide + size, sizeof(wide) - size, "X: y\r\n");
	assert_int_equal(http_request_parse(&request, wide, size), HTTP_REQUEST_E_LARGE);
}

/* Host decides who may ask, so it is never cut; the others are looked at by their beginning. */
static void test_long_values(void **state)
{
	char text[1024];
	(void)state;
	snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: %0300d\r\n\r\n", 0);
	assert_int_equal(parse(text), HTTP_REQUEST_E_BAD);
	snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nAccept: %0300d\r\n\r\n", 0);
	assert_int_equal(parse(text), 0);
	assert_int_equal(strlen(request.accept), HTTP_VALUE_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_request),
		cmocka_unit_test(test_in_parts),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_long_values),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
