// SPDX-License-Identifier: MIT
/* Buffers that forget how large they once had to be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/buffer.h"

#define LEAST 1000

static void use(struct buffer *buffer, size_t size)
{
	assert_int_equal(buffer_reserve(buffer, size), 0);
	buffer->size = size;
	buffer_wane(buffer, LEAST);
}

static void one_huge_use_is_forgotten(void **state)
{
	(void)state;
	struct buffer buffer = BUFFER_NULL;
	use(&buffer, 100000);
	use(&buffer, 2000);
	assert_true(buffer.capacity >= 100000); /* the next may be as large */
	for (int i = 0; i < 30; i++)
		use(&buffer, 2000);
	assert_in_range(buffer.capacity, 2000, 5000);
	buffer_deinit(&buffer);
}

static void large_uses_keep_it(void **state)
{
	(void)state;
	struct buffer buffer = BUFFER_NULL;
	use(&buffer, 100000);
	const uint8_t *data = buffer.data;
	for (int i = 0; i < 100; i++) {
		use(&buffer, i % 5 ? 2000 : 90000);
		assert_ptr_equal(buffer.data, data);
	}
	buffer_deinit(&buffer);
}

static void what_is_small_stays(void **state)
{
	(void)state;
	struct buffer buffer = BUFFER_NULL;
	use(&buffer, LEAST / 2);
	const uint8_t *data = buffer.data;
	for (int i = 0; i < 100; i++)
		use(&buffer, 1);
	assert_ptr_equal(buffer.data, data);
	buffer_deinit(&buffer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_huge_use_is_forgotten),
		cmocka_unit_test(large_uses_keep_it),
		cmocka_unit_test(what_is_small_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
