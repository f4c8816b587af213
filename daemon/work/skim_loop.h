/* SPDX-License-Identifier: MIT */
/*
 * The skimming of entropy_kernel.h as an inline function, for the kernels' files. Finding the end
 * of a block is a chain of loads that wait for each other; several runs in turn fill the waiting.
 */
#ifndef STOKER_WORK_SKIM_LOOP_H
#define STOKER_WORK_SKIM_LOOP_H

#include <string.h>

#include "work/entropy_loop.h"

#define SKIM_STEPS 3 /* from one load to the next */
_Static_assert((SKIM_STEPS - 1) * SKIM_MOST + SKIM_BITS <= 57, "what is loaded is enough");

/* A run under way, within a block. */
struct skim_lane {
	uint64_t bit, bits; /* `bits` is what was loaded there */
	const uint16_t *jump;
	unsigned place; /* of the next coefficient */
	unsigned block; /* of the MCU */
	struct skim_run *run;
	int32_t dc[SCAN_COMPONENTS]; /* differences of the MCU */
};

/* The next block's DC. False if there is none. */
LOOP_INLINE bool lane_block(const struct skim *skim, struct skim_lane *lane)
{
	const struct skim_block *block = &skim->block[lane->block];
	uint64_t bits = loop_load(skim->bytes, lane->bit);
	unsigned found = huffman_find(block->dc, bits);
	if (!found)
		return false;
	lane->dc[block->component] += huffman_number(bits << (found >> 8), found & 15);
	lane->bit += (found >> 8) + (found & 15);
	lane->jump = block->jump;
	lane->place = 1;
	return true;
}

/* Whether the run has met the next one. */
LOOP_INLINE bool lane_meets(const struct skim_run *run, struct skim_run *next, uint32_t *met)
{
	while (*met < next->count && next->marks[*met].bit < run->bit)
		++*met;
	return *met < next->count && next->marks[*met].bit == run->bit;
}

/* An MCU ends. False if the run stops here. */
LOOP_INLINE bool lane_mark(const struct skim *skim, struct skim_lane *lane)
{
	struct skim_run *run = lane->run;
	if (lane->bit > skim->limit) {
		run->failed = true;
		return false;
	}
	struct skim_mark *mark = &run->marks[run->count++];
	mark->bit = (uint32_t)lane->bit;
	for (unsigned i = 0; i < SCAN_COMPONENTS; i++) {
		mark->dc[i] = (int16_t)lane->dc[i];
		lane->dc[i] = 0;
	}
	run->bit = lane->bit;
	if (run->count == run->room)
		return false;
	if (run->bit < run->stop)
		return true;
	if (!run->next)
		return false;
	run->joined = lane_meets(run, run->next, &run->met);
	if (run->joined)
		run->next->guess = false;
	return !run->joined && run->bit < run->next->stop;
}

/* Begin an MCU; a guess that finds no code begins a bit further. */
LOOP_INLINE bool lane_begin(const struct skim *skim, struct skim_lane *lane)
{
	struct skim_run *run = lane->run;
	lane->block = 0;
	while (!lane_block(skim, lane)) {
		if (!run->guess || ++lane->bit > skim->limit) {
			run->failed = true;
			return false;
		}
		run->count = 0;
	}
	return true;
}

LOOP_INLINE bool lane_fail(const struct skim *skim, struct skim_lane *lane)
{
	struct skim_run *run = lane->run;
	if (!run->guess || ++lane->bit > skim->limit) {
		run->failed = true;
		return false;
	}
	run->count = 0;
	memset(lane->dc, 0, sizeof(lane->dc));
	return lane_begin(skim, lane);
}

LOOP_INLINE bool lane_next_block(const struct skim *skim, struct skim_lane *lane)
{
	if (++lane->block < skim->blocks)
		return lane_block(skim, lane) || lane_fail(skim, lane);
	return lane_mark(skim, lane) && lane_begin(skim, lane);
}

/* A step that the block does not survive, or that the table does not know. False if the run has
 * stopped. */
LOOP_INLINE bool lane_turn(const struct skim *skim, struct skim_lane *lane, unsigned jump)
{
	unsigned next = lane->place + (jump >> 8);
	if (next >= SKIM_END && next < SKIM_END + 64) {
		lane->bit += jump & 63;
		return lane_next_block(skim, lane);
	}
	/* A long code, or symbols beyond the block's end: one by one. */
	uint64_t bits = loop_load(skim->bytes, lane->bit);
	unsigned found = huffman_find(skim->block[lane->block].ac, bits);
	if (!found)
		return lane_fail(skim, lane);
	lane->bit += (found >> 8) + (found & 15);
	if ((found & 15) == 0 && (found & 255) != 0xF0)
		return lane_next_block(skim, lane);
	lane->place += (found >> 4 & 15) + 1;
	if (lane->place < 64)
		return true;
	return lane->place == 64 ? lane_next_block(skim, lane) : lane_fail(skim, lane);
}

#define LANE_STEP(lane)                                                                            \
	do {                                                                                       \
		jump = (lane).jump[(lane).bits >> (64 - SKIM_BITS)];                               \
		unsigned next = (lane).place + (jump >> 8);                                        \
		if (__builtin_expect(next >= 64, 0))                                               \
			goto turn_##lane;                                                          \
		(lane).place = next;                                                               \
		(lane).bits <<= jump & 63;                                                         \
		(lane).bit += jump & 63;                                                           \
	} while (0)

/* Until one of them stops; which. `count` is a constant. */
LOOP_INLINE unsigned lanes_go(const struct skim *skim, struct skim_lane *lanes,
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
	turn_a:
		stopped = 0;
		if (lane_turn(skim, &a, jump))
			continue;
		break;
	turn_b:
		stopped = 1;
		if (lane_turn(skim, &b, jump))
			continue;
		break;
	turn_c:
		stopped = 2;
		if (lane_turn(skim, &c, jump))
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
	unsigned going = 0;
	for (unsigned i = 0; i < count; i++) {
		lanes[going].run = &runs[i];
		lanes[going].bit = runs[i].bit;
		going += lane_begin(skim, &lanes[going]);
	}
	while (going > 0) {
		unsigned stopped = going == 3	? lanes_go(skim, lanes, 3)
				   : going == 2 ? lanes_go(skim, lanes, 2)
						: lanes_go(skim, lanes, 1);
		lanes[stopped] = lanes[--going];
	}
}

#endif
