// SPDX-License-Identifier: MIT
/* Copies past the caches: all bytes, and none beside them, at any place and of any size. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/test.h"
#include "work/copy.h"

#define LINE 64
#define AROUND ((size_t)2 * LINE)

static void check(size_t bytes, size_t to, size_t from)
{
	size_t room = COPY_LARGE + 4 * AROUND;
	uint8_t *source = malloc(room), *copy = aligned_alloc(LINE, room);
	assert_non_null(source);
	assert_non_null(copy);
	for (size_t i = 0; i < room; i++)
		source[i] = (uint8_t)(i * 151 + (i >> 8));
	memset(copy, 0xA5, room);
	copy_past(copy + AROUND + to, source + from, bytes);
	assert_memory_equal(copy + AROUND + to, source + from, bytes);
	for (size_t i = 0; i < room; i++)
		if (i < AROUND + to || i >= AROUND + to + bytes)
			assert_int_equal(copy[i], 0xA5);
	free(source);
	free(copy);
}

static void test_sizes_and_places(void **state)
{
	static const size_t sizes[] = {0,
				       1,
				       LINE,
				       COPY_LARGE - 1,
				       COPY_LARGE,
				       COPY_LARGE + 1,
				       COPY_LARGE + LINE - 1,
				       COPY_LARGE + LINE};
	static const size_t places[] = {0, 1, 8, 16, 32, LINE - 1, LINE};
	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (size_t to = 0; to < sizeof(places) / sizeof(*places); to++)
			for (size_t from = 0; from < sizeof(places) / sizeof(*places); from++)
				check(sizes[i], places[to], places[from]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes_and_places),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
