/* SPDX-License-Identifier: MIT */
/*
 * Huffman codes of JPEG: a look-up table, made from the counts and symbols of a DHT segment, that
 * finds the code at the top of a word of bits. Makes the same checks as libjpeg. Pure; any thread.
 */
#ifndef STOKER_DECODE_JPEG_HUFFMAN_H
#define STOKER_DECODE_JPEG_HUFFMAN_H

#include <stdbool.h>
#include <stdint.h>

#define HUFFMAN_QUICK 11 /* codes of up to so many bits take one look-up */

enum {
	HUFFMAN_E_CODE = 1, /* not a prefix code, or with symbols that no baseline scan has */
};

struct huffman_code {
	uint8_t counts[17]; /* [length]; [0] is unused */
	uint8_t symbols[256];
};

struct huffman {
	uint16_t quick[1 << HUFFMAN_QUICK]; /* length << 8 | symbol; 0: a longer code, or none */
	uint32_t limit[17]; /* codes of up to this length, left-aligned in 16 bits, are less */
	int32_t delta[17];  /* from a code of this length to the position of its symbol */
	uint8_t symbols[256];
};

/* 0 or HUFFMAN_E_CODE. A DC code's symbols are sizes of at most 11 bits. */
int huffman_init(struct huffman *huffman, const struct huffman_code *code, bool dc);

unsigned huffman_find_long(const struct huffman *huffman, uint64_t bits);

/* length << 8 | symbol of the code at the top of `bits`; 0 if there is none. */
static inline unsigned huffman_find(const struct huffman *huffman, uint64_t bits)
{
	unsigned found = huffman->quick[bits >> (64 - HUFFMAN_QUICK)];
	return found ? found : huffman_find_long(huffman, bits);
}

/* The value that `size` bits at the top of `bits` stand for: EXTEND in F.2.2.1 of the standard. */
static inline int32_t huffman_value(uint64_t bits, unsigned size)
{
	int32_t value = (int32_t)((bits >> 1) >> (63 - size));
	int32_t lowest = 1 - (int32_t)(1u << size);
	/* No branch: the processor could not predict the sign. */
	return value + (lowest & ((int32_t)(bits >> 63) - 1));
}

#endif
