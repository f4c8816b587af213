// SPDX-License-Identifier: MIT
/* Buffers that forget how large they once had to be. */
#include <malloc.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "tests/unit/test.h"

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
	for (int i = 0; i < 100; i++)
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

/* Large buffers whose sizes change, as pictures' do, leave no holes in malloc's heap. Sanitizers
 * have another malloc, which says nothing of its heap: then this sees nothing. */
static void what_is_large_is_not_in_the_heap(void **state)
{
	(void)state;
	struct buffer buffers[8] = {BUFFER_NULL};
	void *between[8];
	struct mallinfo2 before = mallinfo2();
	for (int round = 1; round <= 20; round++)
		for (int i = 0; i < 8; i++) {
			assert_int_equal(buffer_reserve(&buffers[i], 1), 0);
			buffer_deinit(&buffers[i]);
			size_t size = ((size_t)round << 18) + ((size_t)i << 14);
			assert_int_equal(buffer_reserve(&buffers[i], size), 0);
			buffers[i].data[0] = buffers[i].data[size + BUFFER_SLACK - 1] = 1;
			if (round == 1)
				assert_non_null(between[i] = malloc(100));
		}
	struct mallinfo2 after = mallinfo2();
	assert_true(after.arena + after.hblkhd <= before.arena + before.hblkhd + (1 << 20));
	for (int i = 0; i < 8; i++) {
		buffer_deinit(&buffers[i]);
		free(between[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_huge_use_is_forgotten),
		cmocka_unit_test(large_uses_keep_it),
		cmocka_unit_test(what_is_small_stays),
		cmocka_unit_test(what_is_large_is_not_in_the_heap),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
