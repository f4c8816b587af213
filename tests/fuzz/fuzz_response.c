// SPDX-License-Identifier: MIT
/*
 * Any lines as the head of an HTTP response: what is taken of them is text that ends and ranges
 * that have an end, and a version has the size that it was asked for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/remote/response.h"
#include "tests/fuzz/fuzz.h"

static void check(int good, const char *words)
{
	if (good)
		return;
	fprintf(stderr, "%s\n", words);
	abort();
}

/* In a block of its own, so that a sanitizer sees a read behind it. */
static void take_line(struct response *response, const uint8_t *data, size_t size)
{
	char *line = malloc(size ? size : 1);
	if (!line)
		return;
	memcpy(line, data, size);
	response_take(response, line, size);
	free(line);
}

FUZZ_TARGET(response)
{
	struct response response = {.status = 0};
	struct storage_version version;
	struct fault fault;
	for (size_t at = 0; at < size;) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		size_t next = end ? (size_t)(end - data) + 1 : size;
		take_line(&response, data + at, next - at);
		at = next;
	}
	check(response.status < 1000, "a status has three digits");
	check(memchr(response.type, 0, sizeof(response.type)) != NULL, "a type ends");
	check(memchr(response.region, 0, sizeof(response.region)) != NULL, "a region ends");
	check(!response.has_range ||
		      (response.first <= response.last && response.last < response.total),
	      "a range lies within its object");
	int result = response_version(&response, 7, &version, &fault);
	check(result ? !response.has_tag && !response.has_modified : version.size == 7,
	      "a version is of a tag or a time");
	return 0;
}
