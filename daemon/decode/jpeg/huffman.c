// SPDX-License-Identifier: MIT
#include "decode/jpeg/huffman.h"

#include <string.h>

#define DC_SIZE_MAX 11

static void huffman_fill(struct huffman *huffman, uint32_t code, unsigned length, uint8_t symbol)
{
	uint32_t copies = 1u << (HUFFMAN_QUICK - length);
	for (uint32_t i = 0; i < copies; i++)
		huffman->quick[code * copies + i] = (uint16_t)(length << 8 | symbol);
}

int huffman_init(struct huffman *huffman, const struct huffman_code *code, bool dc)
{
	uint32_t next = 0;
	unsigned place = 0;
	memset(huffman->quick, 0, sizeof(huffman->quick));
	huffman->limit[0] = 0;
	for (unsigned length = 1; length <= 16; length++, next <<= 1) {
		huffman->delta[length] = (int32_t)place - (int32_t)next;
		for (unsigned i = 0; i < code->counts[length]; i++, place++, next++) {
			if (place == 256 || next >> length ||
			    (dc && code->symbols[place] > DC_SIZE_MAX))
				return HUFFMAN_E_CODE;
			huffman->symbols[place] = code->symbols[place];
			if (length <= HUFFMAN_QUICK)
				huffman_fill(huffman, next, length, code->symbols[place]);
		}
		huffman->limit[length] = next << (16 - length);
	}
	return place ? 0 : HUFFMAN_E_CODE;
}

unsigned huffman_find_long(const struct huffman *huffman, uint64_t bits)
{
	uint32_t code = (uint32_t)(bits >> 48);
	for (unsigned length = HUFFMAN_QUICK + 1; length <= 16; length++)
		if (code < huffman->limit[length]) {
			int32_t place = (int32_t)(code >> (16 - length)) + huffman->delta[length];
			return length << 8 | huffman->symbols[place & 255];
		}
	return 0;
}
