/* SPDX-License-Identifier: MIT */
/*
 * The skimming of entropy_kernel.h as an inline function, which each kernel's file includes.
 * Finding the end of a block is a chain of dependent loads; several runs interleaved hide their
 * latency.
 */
#ifndef STOKER_DECODE_JPEG_SKIM_LOOP_H
#define STOKER_DECODE_JPEG_SKIM_LOOP_H

#include <string.h>

#include "decode/jpeg/entropy_loop.h"

#define SKIM_STEPS 3 /* between two loads */
_Static_assert((SKIM_STEPS - 1) * SKIM_STEP_BITS_MAX + SKIM_BITS <= 57,
	       "one load is enough for all steps");

/* A run within a block. */
struct skim_lane {
	uint64_t bit, bits; /* `bits` is the word loaded at `bit` */
	const uint16_t *jump;
	unsigned place; /* of the next coefficient in the block */
	unsigned block; /* of the MCU */
	struct skim_run *run;
	struct skim_mark *mark; /* of the MCU */
};

/* Decode the block's DC difference. False if the code is invalid. */
LOOP_INLINE bool lane_block(const struct skim *skim, struct skim_lane *lane)
{
	const struct skim_block *block = &skim->block[lane->block];
	uint64_t bits = loop_load(skim->bytes, lane->bit);
	unsigned found = huffman_find(block->dc, bits);
	if (__builtin_expect(!found, 0))
		return false;
	int32_t value = huffman_value(bits << (found >> 8), found & 15);
	lane->mark->dc[block->component] = (int16_t)(lane->mark->dc[block->component] + value);
	lane->bit += (found >> 8) + (found & 15);
	lane->jump = block->jump;
	lane->place = 1;
	return true;
}

LOOP_INLINE void lane_clear(struct skim_lane *lane)
{
	lane->block = 0;
	lane->mark = &lane->run->marks[lane->run->count];
	memset(lane->mark->dc, 0, sizeof(lane->mark->dc));
}

/* Begin an MCU; a guess that finds no valid code moves on by a bit. */
static __attribute__((noinline)) bool lane_begin(const struct skim *skim, struct skim_lane *lane)
{
	lane_clear(lane);
	while (!lane_block(skim, lane)) {
		if (!lane->run->guess || ++lane->bit > skim->limit) {
			lane->run->failed = true;
			return false;
		}
	}
	return true;
}

static __attribute__((noinline)) bool lane_fail(const struct skim *skim, struct skim_lane *lane)
{
	struct skim_run *run = lane->run;
	if (!run->guess || ++lane->bit > skim->limit) {
		run->failed = true;
		return false;
	}
	run->count = 0;
	return lane_begin(skim, lane);
}

/* After the run's stop: whether it continues, to meet the next run. */
static __attribute__((noinline)) bool run_seeks(struct skim_run *run)
{
	struct skim_run *next = run->next;
	if (!next)
		return false;
	while (run->met < next->count && next->marks[run->met].bit < run->bit)
		run->met++;
	run->joined = run->met < next->count && next->marks[run->met].bit == run->bit;
	if (run->joined)
		next->guess = false;
	return !run->joined && run->bit < next->stop;
}

/* Mark the end of an MCU. False if the run stops here. */
LOOP_INLINE bool lane_mark(const struct skim *skim, struct skim_lane *lane)
{
	struct skim_run *run = lane->run;
	if (lane->bit > skim->limit) {
		run->failed = true;
		return false;
	}
	lane->mark->bit = (uint32_t)lane->bit;
	run->bit = lane->bit;
	if (++run->count == run->room || (run->bit >= run->stop && !run_seeks(run)))
		return false;
	lane_clear(lane);
	return true;
}

enum lane_state { LANE_RUNS, LANE_BLOCK_ENDS, LANE_STOPS };

/* One symbol: for a long code, or if a step would pass the block's end. */
static __attribute__((noinline)) enum lane_state lane_symbol(const struct skim *skim,
							     struct skim_lane *lane)
{
	unsigned found =
		huffman_find(skim->block[lane->block].ac, loop_load(skim->bytes, lane->bit));
	if (found) {
		lane->bit += (found >> 8) + (found & 15);
		if ((found & 15) == 0 && (found & 255) != 0xF0)
			return LANE_BLOCK_ENDS;
		lane->place += (found >> 4 & 15) + 1;
		if (lane->place <= 64)
			return lane->place < 64 ? LANE_RUNS : LANE_BLOCK_ENDS;
	}
	return lane_fail(skim, lane) ? LANE_RUNS : LANE_STOPS;
}

/* A step that ends the block or that the table does not hold. False if the run has stopped. Rare
 * cases work on a copy, so that the compiler can keep the lane in registers. */
LOOP_INLINE bool lane_step_slowly(const struct skim *skim, struct skim_lane *lane, unsigned jump)
{
	unsigned next = lane->place + (jump >> 8);
	if (next >= SKIM_END && next < SKIM_END + 64) {
		lane->bit += jump & 63;
	} else {
		struct skim_lane copy = *lane;
		enum lane_state state = lane_symbol(skim, &copy);
		*lane = copy;
		if (state != LANE_BLOCK_ENDS)
			return state == LANE_RUNS;
	}
	if (++lane->block == skim->blocks && !lane_mark(skim, lane))
		return false;
	if (lane_block(skim, lane))
		return true;
	struct skim_lane copy = *lane;
	bool runs = lane_fail(skim, &copy);
	*lane = copy;
	return runs;
}

#define LANE_STEP(lane)                                                                            \
	do {                                                                                       \
		jump = (lane).jump[(lane).bits >> (64 - SKIM_BITS)];                               \
		unsigned next = (lane).place + (jump >> 8);                                        \
		if (__builtin_expect(next >= 64, 0))                                               \
			goto slow_##lane;                                                          \
		(lane).place = next;                                                               \
		(lane).bits <<= jump & 63;                                                         \
		(lane).bit += jump & 63;                                                           \
	} while (0)

/* Advance the lanes until one of them stops, and return which. `count` is a constant. */
LOOP_INLINE unsigned lanes_run(const struct skim *skim, struct skim_lane *lanes,
			       const unsigned count)
{
	struct skim_lane a = lanes[0], b = lanes[count > 1 ? 1 : 0], c = lanes[count > 2 ? 2 : 0];
	unsigned jump, stopped;
	for (;;) {
		a.bits = loop_load(skim->bytes, a.bit);
		if (count > 1)
			b.bits = loop_load(skim->bytes, b.bit);
		if (count > 2)
			c.bits = loop_load(skim->bytes, c.bit);
#pragma GCC unroll 3
		for (int i = 0; i < SKIM_STEPS; i++) {
			LANE_STEP(a);
			if (count > 1)
				LANE_STEP(b);
			if (count > 2)
				LANE_STEP(c);
		}
		continue;
	slow_a:
		stopped = 0;
		if (lane_step_slowly(skim, &a, jump))
			continue;
		break;
	slow_b:
		stopped = 1;
		if (lane_step_slowly(skim, &b, jump))
			continue;
		break;
	slow_c:
		stopped = 2;
		if (lane_step_slowly(skim, &c, jump))
			continue;
		break;
	}
	lanes[0] = a;
	if (count > 1)
		lanes[1] = b;
	if (count > 2)
		lanes[2] = c;
	return stopped;
}

LOOP_INLINE void skim_loop(const struct skim *skim, struct skim_run *runs, unsigned count)
{
	struct skim_lane lanes[SKIM_RUNS] = {0};
	unsigned running = 0;
	for (unsigned i = 0; i < count; i++) {
		lanes[running].run = &runs[i];
		lanes[running].bit = runs[i].bit;
		running += lane_begin(skim, &lanes[running]);
	}
	while (running > 0) {
		unsigned stopped = running == 3	  ? lanes_run(skim, lanes, 3)
				   : running == 2 ? lanes_run(skim, lanes, 2)
						  : lanes_run(skim, lanes, 1);
		lanes[stopped] = lanes[--running];
	}
}

#endif
