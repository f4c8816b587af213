// SPDX-License-Identifier: MIT
/* The slow path that the kernels of all instruction sets share. */
#include "decode/jpeg/entropy_kernel.h"

/*
 * A step whose code or value is too long for the table. An invalid code ends the block after one
 * bit: decoding goes on, and the caller sees the damage when the stream ends elsewhere than the
 * index says.
 */
uint64_t entropy_step_long(const uint32_t *step, uint64_t bits)
{
	const struct entropy_table *table = (const struct entropy_table *)(const void *)step;
	unsigned found = huffman_find(&table->huffman, bits);
	unsigned length = found ? found >> 8 : 1, symbol = found & 255;
	unsigned size = symbol & 15, run = table->dc ? 0 : symbol >> 4;
	uint32_t entry = length + size;
	if (size == 0 && !table->dc && run != 15)
		entry |= ENTROPY_END << 16;
	else
		entry |= 2 * (run + 1) << 8;
	int16_t value = (int16_t)huffman_value(bits << length, size);
	return entry | (uint64_t)(uint16_t)value << 32;
}
