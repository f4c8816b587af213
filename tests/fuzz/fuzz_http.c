// SPDX-License-Identifier: MIT
/*
 * Any bytes as the head of an HTTP request: it is refused, or what is taken of it is text that
 * ends. With more bytes a request that is whole stays the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop/watch/http_request.h"
#include "tests/fuzz/fuzz.h"

static void check(int good, const char *words)
{
	if (good)
		return;
	fprintf(stderr, "%s\n", words);
	abort();
}

FUZZ_TARGET(http)
{
	struct http_request request, again;
	char *copy = malloc(size + 1);
	if (!copy)
		return 0;
	memset(&request, 0x55, sizeof(request));
	memcpy(copy, data, size);
	copy[size] = 'x';
	int result = http_request_parse(&request, copy, size);
	if (result == 0) {
		check(memchr(request.path, 0, sizeof(request.path)) && request.path[0] == '/',
		      "a path begins and ends");
		check(memchr(request.host, 0, sizeof(request.host)) != NULL, "a host ends");
		check(memchr(request.accept, 0, sizeof(request.accept)) != NULL, "accept ends");
		check(memchr(request.token, 0, sizeof(request.token)) != NULL, "a token ends");
		check(size >= HTTP_HEAD_MAX || (http_request_parse(&again, copy, size + 1) == 0 &&
						strcmp(again.path, request.path) == 0),
		      "what follows a head does not change it");
	} else {
		check(result <= HTTP_REQUEST_E_PATH, "a condition of the header");
		check(result != HTTP_REQUEST_E_MORE || size < HTTP_HEAD_MAX, "a head has an end");
	}
	free(copy);
	return 0;
}
