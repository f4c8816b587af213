// SPDX-License-Identifier: MIT
#include "base/crc32c.h"

#include <string.h>

#include "base/cpu.h"

#define POLYNOMIAL 0x82F63B78u /* its bits in reverse */

/* The remainder of a byte. */
static uint32_t crc32c_byte(uint32_t crc)
{
	for (int bit = 0; bit < 8; bit++)
		crc = crc & 1 ? crc >> 1 ^ POLYNOMIAL : crc >> 1;
	return crc;
}

uint32_t crc32c_plain(uint32_t before, const uint8_t *data, size_t size)
{
	uint32_t table[256], crc = ~before;
	for (uint32_t i = 0; i < 256; i++)
		table[i] = crc32c_byte(i);
	for (size_t i = 0; i < size; i++)
		crc = crc >> 8 ^ table[(uint8_t)crc ^ data[i]];
	return ~crc;
}

#if defined(__x86_64__)

__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint64_t crc, const uint8_t *data,
							       size_t size)
{
	for (; size >= 8; size -= 8, data += 8) {
		uint64_t word;
		memcpy(&word, data, sizeof(word));
		crc = __builtin_ia32_crc32di(crc, word);
	}
	for (; size > 0; size--, data++)
		crc = __builtin_ia32_crc32qi((uint32_t)crc, *data);
	return (uint32_t)crc;
}

uint32_t crc32c(uint32_t before, const uint8_t *data, size_t size)
{
	/* Every processor with AVX2 has SSE 4.2. */
	return cpu_best() >= CPU_AVX2 ? ~crc32c_sse42(~before, data, size)
				      : crc32c_plain(before, data, size);
}

#else

uint32_t crc32c(uint32_t before, const uint8_t *data, size_t size)
{
	return crc32c_plain(before, data, size);
}

#endif
