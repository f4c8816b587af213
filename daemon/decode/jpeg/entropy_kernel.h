/* SPDX-License-Identifier: MIT */
/*
 * The loops over bits that are worth a version for each instruction set, all with the same results
 * (entropy_plain.c, entropy_avx2.c, entropy_avx512.c: entropy_loop.h, compiled for each), and their
 * choice at run time. Immutable; any thread.
 */
#ifndef STOKER_DECODE_JPEG_ENTROPY_KERNEL_H
#define STOKER_DECODE_JPEG_ENTROPY_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decode/jpeg/huffman.h"
#include "decode/jpeg/seek_index.h"

/*
 * Skimming: to find the end of a block without its numbers, several symbols are passed in one step.
 * By the next SKIM_BITS bits: bits passed | coefficients passed << 8. The last symbol's number may
 * lie beyond those bits. Coefficients are SKIM_MISS if no whole code is there, and counted from
 * SKIM_END if the last one ends the block.
 */
#define SKIM_BITS 12
#define SKIM_MOST 22 /* bits passed by a step: three of them, the last one's code, fit in 57 */
#define SKIM_MISS 64
#define SKIM_END 128
#define SKIM_SLACK 4096 /* readable bytes behind the last: an MCU more than there is */
#define SKIM_RUNS 3	/* at a time */

struct skim {
	const uint8_t *bytes; /* unstuffed */
	uint64_t limit;	      /* bits there are */
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
	int16_t dc[SCAN_COMPONENTS]; /* the sums of its differences */
};

/*
 * A run over MCUs from `bit` on. It stops when it has no room for another mark, where it fails
 * (there is no such code, or too many coefficients, or no bits), and at the first MCU that ends at
 * or behind `stop`.
 *
 * A run that begins anywhere is a guess. Codes find their way back: after some MCUs it is where a
 * run from the start would be. It never fails, but begins anew with no mark. A run with a `next`,
 * a guess from `stop` on, goes on behind it until it ends an MCU where the next run has ended one,
 * too: from there on both are the same.
 */
struct skim_run {
	uint64_t bit; /* where it is: the last mark's */
	uint64_t stop;
	struct skim_mark *marks;
	uint32_t count, room;
	uint32_t met; /* the mark of the next run where both met */
	bool guess, failed, joined;
	struct skim_run *next;
};

/*
 * Decoding: each stream writes the blocks of a run of MCUs, coefficients in zigzag order, DC as
 * differences, to memory that is all zero. By the next HUFFMAN_QUICK bits: bits | 2 * coefficients
 * to go on << 8 | ENTROPY_END if the block ends << 16 | number << 24. If the number is not among
 * those bits, or too large: 0 bits, and in place of the number the code's length and the number's.
 * 0 if not even the code is there.
 */
#define ENTROPY_END 126u
#define ENTROPY_ASIDE(length, size) ((uint32_t)(length) << 28 | (uint32_t)(size) << 24)
#define ENTROPY_ASIDE_LENGTH(entry) ((unsigned)((entry) >> 28))
#define ENTROPY_ASIDE_SIZE(entry) ((unsigned)((entry) >> 24 & 15))

struct entropy_table {
	uint32_t step[1 << HUFFMAN_QUICK]; /* first: a pointer to it is one to the whole */
	struct huffman huffman;
	uint32_t dc; /* 1: of DC */
};

/* Where to go on after a step, chosen without a branch: a block's next symbol, or the next block.
 */
struct entropy_node {
	struct entropy_arc {
		_Alignas(128) const uint32_t *step;
		const struct entropy_node *node;
	} arc[2];
};

struct entropy_stream {
	uint64_t bit;	      /* place in the bytes */
	char *at, *end;	      /* the coefficient written last, and the last one of all */
	const uint32_t *step; /* the table in use */
	const struct entropy_node *node;
	uint32_t row; /* the caller's */
};

/* A stream that reads nonsense passes at most this many bits in a block. */
#define ENTROPY_BLOCK_BITS (64 * SEEK_INDEX_STEP_BITS)

struct entropy_kernel {
	const char *name;
	/* Let the runs go on until they stop, at most SKIM_RUNS. */
	void (*skim)(const struct skim *skim, struct skim_run *runs, unsigned count);
	/* Decode all streams to their ends, some at a time. */
	void (*run)(const uint8_t *bytes, struct entropy_stream *streams, unsigned count);
	/* Blocks of zigzag order to blocks of natural order; `from` is zero afterwards. */
	void (*deal)(int16_t *from, int16_t *const *to, unsigned blocks);
};

/* All that this machine can run, plain C first and the fastest last; NULL behind it. */
const struct entropy_kernel *entropy_kernel_at(unsigned i);
const struct entropy_kernel *entropy_kernel_best(void);

/* Of struct entropy_table; not in the fast way. */
uint64_t entropy_step_long(const uint32_t *step, uint64_t bits);

#endif
