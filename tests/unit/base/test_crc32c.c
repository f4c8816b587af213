// SPDX-License-Identifier: MIT
/* CRC-32C: the values of RFC 3720, and the instruction against the table. */
#include <string.h>

#include "base/crc32c.h"
#include "tests/unit/test.h"

static void test_published(void **state)
{
	uint8_t bytes[32] = {0};
	(void)state;
	assert_int_equal(crc32c(0, (const uint8_t *)"123456789", 9), 0xE3069283);
	assert_int_equal(crc32c(0, bytes, 32), 0x8A9136AA);
	memset(bytes, 0xFF, sizeof(bytes));
	assert_int_equal(crc32c(0, bytes, 32), 0x62A8AB43);
	for (uint8_t i = 0; i < 32; i++)
		bytes[i] = i;
	assert_int_equal(crc32c(0, bytes, 32), 0x46DD794E);
}

static void test_parts(void **state)
{
	uint8_t bytes[257];
	(void)state;
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 151 + (i >> 3));
	for (size_t size = 0; size <= sizeof(bytes); size++) {
		uint32_t whole = crc32c_plain(0, bytes, size);
		assert_int_equal(crc32c(0, bytes, size), whole);
		assert_int_equal(
			crc32c(crc32c(0, bytes, size / 3), bytes + size / 3, size - size / 3),
			whole);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_published),
		cmocka_unit_test(test_parts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
