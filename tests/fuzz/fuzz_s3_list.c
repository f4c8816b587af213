// SPDX-License-Identifier: MIT
/*
 * Any bytes as a page of list-objects-v2, and as an error of S3: keys and tokens are texts that
 * end, an entry is shown in the same way each time, and a code has letters, digits and '?'.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/remote/s3_list.h"
#include "tests/fuzz/fuzz.h"

struct seen {
	uint64_t entries, bytes;
	uint64_t most; /* entries, until the page is ended */
};

static void check(int good, const char *words)
{
	if (good)
		return;
	fprintf(stderr, "%s\n", words);
	abort();
}

static bool take(void *context, const char *key, uint64_t size, bool folder)
{
	struct seen *seen = context;
	size_t length = strlen(key);
	check(length <= S3_TEXT_MAX, "a key has a limit");
	check(!folder || size == 0, "a folder has no size");
	seen->entries++;
	seen->bytes += length;
	return seen->entries < seen->most;
}

FUZZ_TARGET(s3_list)
{
	char next[S3_TEXT_MAX + 1], again[S3_TEXT_MAX + 1];
	struct s3_error error;
	struct seen all = {.most = UINT64_MAX}, same = {.most = UINT64_MAX}, one = {.most = 1};
	int result = s3_list_parse(data, size, take, &all, next);
	check(result <= S3_LIST_E_BAD, "a condition of the header");
	check(s3_list_parse(data, size, take, &same, again) == result &&
		      same.entries == all.entries && same.bytes == all.bytes,
	      "a page says the same each time");
	check(result || (strlen(next) <= S3_TEXT_MAX && strcmp(next, again) == 0),
	      "a token is a text");
	(void)s3_list_parse(data, size, take, &one, next);
	check(one.entries <= 1, "a page that is ended has no more entries");
	s3_error_parse(data, size, &error);
	check(strlen(error.code) <= S3_CODE_MAX && strlen(error.region) <= S3_CODE_MAX,
	      "a code and a region end");
	for (const char *c = error.code; *c; c++)
		check(isalnum((unsigned char)*c) || *c == '?', "a code can be shown");
	return 0;
}
