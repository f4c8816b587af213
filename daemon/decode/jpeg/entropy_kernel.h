/* SPDX-License-Identifier: MIT */
/*
 * The inner loops over entropy-coded bits, with a version for each instruction set
 * (entropy_plain.c, entropy_avx2.c, entropy_avx512.c, entropy_neon.c) that all give the same
 * results, and the choice of one at run time. Immutable; any thread.
 */
#ifndef STOKER_DECODE_JPEG_ENTROPY_KERNEL_H
#define STOKER_DECODE_JPEG_ENTROPY_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decode/jpeg/huffman.h"
#include "decode/jpeg/seek_index.h"

/*
 * Skimming: finding the end of a block without its values, several symbols in one step. The table
 * has for the next SKIM_BITS bits: bits to skip | coefficients to skip << 8. The last symbol's
 * value may lie beyond those bits. The coefficients are SKIM_MISS if the bits hold no complete
 * code, and SKIM_END is added if the last symbol ends the block.
 */
#define SKIM_BITS 12
/* The most bits skipped by a step: two of them and the bits of the third's look-up fit in 57. */
#define SKIM_STEP_BITS_MAX 22
#define SKIM_MISS 64
#define SKIM_END 128
#define SKIM_SLACK 4096 /* readable bytes after the last: an MCU that is not there fits */
#define SKIM_RUNS 3	/* the most at a time */

struct skim {
	const uint8_t *bytes; /* unstuffed */
	uint64_t limit;	      /* number of bits */
	unsigned blocks;
	struct skim_block {
		const struct huffman *dc, *ac;
		const uint16_t *jump;
		unsigned component;
	} block[SCAN_BLOCKS];
};

/* The end of an MCU. */
struct skim_mark {
	uint32_t bit;
	int16_t dc[SCAN_COMPONENTS]; /* the sum of the MCU's DC differences */
};

/*
 * A run over MCUs from `bit` on. It stops when it has no room for another mark, when it fails (an
 * invalid code, too many coefficients, or no more bits), and at the first MCU that ends at or after
 * `stop`.
 *
 * A run with `guess` begins at an arbitrary bit, not at an MCU. Huffman codes are
 * self-synchronising: after some MCUs it is where a run from the start would be. Where it fails it
 * discards its marks and begins again one bit further. A run with a `next`, which is a guess from
 * `stop` on, continues after `stop` until it ends an MCU at the same bit as the next run: from
 * there on the two are the same.
 */
struct skim_run {
	uint64_t bit; /* current position: the last mark's */
	uint64_t stop;
	struct skim_mark *marks;
	uint32_t count, room;
	uint32_t met; /* the next run's mark at which both met */
	bool guess, failed, joined;
	struct skim_run *next;
};

/*
 * Decoding: each stream writes the blocks of consecutive MCUs to memory that is all zero:
 * coefficients in zigzag order, DC as differences. The table has for the next HUFFMAN_QUICK bits:
 * bits used | 2 * coefficients to advance << 8 | ENTROPY_END if the block ends << 16 | value << 24.
 * An escape entry, if the value is not among those bits or too large, has 0 bits, and the lengths
 * of code and value in place of the value. The entry is 0 if the code is longer than those bits.
 */
#define ENTROPY_END 126u
#define ENTROPY_ESCAPE(length, size) ((uint32_t)(length) << 28 | (uint32_t)(size) << 24)
#define ENTROPY_ESCAPE_LENGTH(entry) ((unsigned)((entry) >> 28))
#define ENTROPY_ESCAPE_SIZE(entry) ((unsigned)((entry) >> 24 & 15))

struct entropy_table {
	uint32_t step[1 << HUFFMAN_QUICK]; /* first: a pointer to it is cast to the whole */
	struct huffman huffman;
	uint32_t dc; /* 1: a DC table */
};

/* The state after a step, chosen without a branch: arc[0] in the same block, arc[1] the next block.
 */
struct entropy_node {
	struct entropy_arc {
		_Alignas(128) const uint32_t *step;
		const struct entropy_node *node;
	} arc[2];
};

struct entropy_stream {
	uint64_t bit;	      /* position in the bytes */
	char *at, *end;	      /* the coefficient written last, and the last one to write */
	const uint32_t *step; /* the table in use */
	const struct entropy_node *node;
	uint32_t row; /* of the caller's slices */
};

/* The most bits that a stream uses for a block, also in damaged data. */
#define ENTROPY_BLOCK_BITS (64 * SEEK_INDEX_STEP_BITS)

struct entropy_kernel {
	const char *name;
	/* Advance all runs, at most SKIM_RUNS, until they stop. */
	void (*skim)(const struct skim *skim, struct skim_run *runs, unsigned count);
	/* Decode all streams to their ends. */
	void (*decode)(const uint8_t *bytes, struct entropy_stream *streams, unsigned count);
	/* Copy blocks from zigzag to natural order, and clear `from`. */
	void (*reorder)(int16_t *from, int16_t *const *to, unsigned blocks);
};

/* The kernels that this machine can run, from plain C to the fastest; NULL after the last. */
const struct entropy_kernel *entropy_kernel_at(unsigned i);
const struct entropy_kernel *entropy_kernel_best(void);

/* The slow path of a step: `step` is of a struct entropy_table. Returns entry | value << 32. */
uint64_t entropy_step_long(const uint32_t *step, uint64_t bits);

#endif
