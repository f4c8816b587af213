/* SPDX-License-Identifier: MIT */
/*
 * The loops of entropy_kernel.h, as inline functions: a kernel's file includes this and is compiled
 * for its instruction set. What makes them fast: no branch that depends on a symbol, so that the
 * processor works on several streams at once; a step's table gives the number, too.
 */
#ifndef STOKER_DECODE_JPEG_ENTROPY_LOOP_H
#define STOKER_DECODE_JPEG_ENTROPY_LOOP_H

#include <stdint.h>
#include <string.h>

#include "decode/jpeg/entropy_kernel.h"

#define LOOP_INLINE static inline __attribute__((always_inline))
#define LOOP_STEPS 4 /* from one load to the next: 56 bits are 5 steps of 11 */

/* 57 bits or more from `bit` on, at the top of the word. */
LOOP_INLINE uint64_t loop_load(const uint8_t *bytes, uint64_t bit)
{
	uint64_t word;
	memcpy(&word, bytes + (bit >> 3), sizeof(word));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	return word << (bit & 7);
}

/* A stream in registers. Behind the bits of the word stands a one: where it is tells how many of
 * them have been used, without counting. */
struct loop_stream {
	uint64_t bit, bits; /* `bit` is where the word was loaded */
	char *at;
	const struct entropy_node *node;
	const uint32_t *step;
};

LOOP_INLINE void loop_refill(struct loop_stream *s, const uint8_t *bytes)
{
	s->bit += (unsigned)__builtin_ctzll(s->bits);
	s->bits = loop_load(bytes, s->bit) | 1;
}

/* A step that is not in the table. Returns entry | number << 32. */
LOOP_INLINE uint64_t loop_step_aside(struct loop_stream *s, const uint8_t *bytes, uint64_t entry)
{
	loop_refill(s, bytes);
	if (entry == 0) {
		entry = entropy_step_long(s->step, s->bits);
		s->bits <<= entry & 63;
	} else {
		unsigned length = ENTROPY_ASIDE_LENGTH(entry), size = ENTROPY_ASIDE_SIZE(entry);
		s->bits <<= length;
		int32_t number = huffman_number(s->bits, size);
		s->bits <<= size;
		entry = (entry & 0xFFFFFF) | (uint64_t)(uint32_t)number << 32;
	}
	loop_refill(s, bytes);
	return entry;
}

LOOP_INLINE void loop_step(struct loop_stream *s, const uint8_t *bytes)
{
	uint64_t entry = s->step[s->bits >> (64 - HUFFMAN_QUICK)];
	int32_t number = (int32_t)(uint32_t)entry >> 24;
	if (__builtin_expect((entry & 63) == 0, 0)) {
		entry = loop_step_aside(s, bytes, entry);
		number = (int32_t)(entry >> 32);
	} else {
		s->bits <<= entry & 63;
	}
	/* The blocks are aligned: the low bits of the address are the place in the block. */
	uintptr_t to = ((uintptr_t)s->at + (entry >> 8 & 255)) | (entry >> 16 & ENTROPY_END);
	int16_t value = (int16_t)number;
	s->at = (char *)to;
	memcpy(s->at, &value, sizeof(value));
	uintptr_t full = ((to + 2) ^ to) & 128; /* the block's last coefficient was passed */
	const struct entropy_arc *arc = (const struct entropy_arc *)((const char *)s->node + full);
	s->step = arc->step;
	s->node = arc->node;
}

LOOP_INLINE struct loop_stream loop_enter(const struct entropy_stream *s)
{
	return (struct loop_stream){s->bit, 1, s->at, s->node, s->step};
}

LOOP_INLINE void loop_leave(struct entropy_stream *s, const struct loop_stream *loop)
{
	s->bit = loop->bit + (unsigned)__builtin_ctzll(loop->bits);
	s->at = loop->at;
	s->node = loop->node;
	s->step = loop->step;
}

/* LOOP_STEPS * turns steps of each stream; `count` is a constant. */
LOOP_INLINE void loop_turns(const uint8_t *bytes, struct entropy_stream *streams, size_t turns,
			    const int count)
{
	struct loop_stream a = loop_enter(&streams[0]);
	struct loop_stream b = loop_enter(&streams[count > 1 ? 1 : 0]);
	struct loop_stream c = loop_enter(&streams[count > 2 ? 2 : 0]);
	struct loop_stream d = loop_enter(&streams[count > 3 ? 3 : 0]);
	for (; turns > 0; turns--) {
		loop_refill(&a, bytes);
		if (count > 1)
			loop_refill(&b, bytes);
		if (count > 2)
			loop_refill(&c, bytes);
		if (count > 3)
			loop_refill(&d, bytes);
#pragma GCC unroll 4
		for (int i = 0; i < LOOP_STEPS; i++) {
			loop_step(&a, bytes);
			if (count > 1)
				loop_step(&b, bytes);
			if (count > 2)
				loop_step(&c, bytes);
			if (count > 3)
				loop_step(&d, bytes);
		}
	}
	loop_leave(&streams[0], &a);
	if (count > 1)
		loop_leave(&streams[1], &b);
	if (count > 2)
		loop_leave(&streams[2], &c);
	if (count > 3)
		loop_leave(&streams[3], &d);
}

/* Turns that cannot lead beyond the stream's end: a block takes at least two steps. */
LOOP_INLINE size_t loop_sure_turns(const struct entropy_stream *s)
{
	size_t blocks = (size_t)(s->end - s->at + 127) / 128;
	return (2 * blocks - 1) / LOOP_STEPS;
}

LOOP_INLINE void loop_finish(const uint8_t *bytes, struct entropy_stream *stream)
{
	struct loop_stream loop = loop_enter(stream);
	while (loop.at < stream->end) {
		loop_refill(&loop, bytes);
		loop_step(&loop, bytes);
	}
	loop_leave(stream, &loop);
}

#define LOOP_WAYS 4 /* streams at a time */

LOOP_INLINE void loop_some(const uint8_t *bytes, struct entropy_stream *streams, size_t turns,
			   unsigned count)
{
	if (count >= 4)
		loop_turns(bytes, streams, turns, 4);
	else if (count == 3)
		loop_turns(bytes, streams, turns, 3);
	else if (count == 2)
		loop_turns(bytes, streams, turns, 2);
	else
		loop_turns(bytes, streams, turns, 1);
}

/* The first LOOP_WAYS streams run; one that is done makes room for the last. Their order in the
 * list changes. */
LOOP_INLINE void loop_run(const uint8_t *bytes, struct entropy_stream *streams, unsigned count)
{
	while (count > 0) {
		unsigned ways = count < LOOP_WAYS ? count : LOOP_WAYS, first = 0;
		size_t turns = SIZE_MAX;
		for (unsigned i = 0; i < ways; i++) {
			size_t sure = loop_sure_turns(&streams[i]);
			if (sure < turns) {
				turns = sure;
				first = i;
			}
		}
		if (turns > 0) {
			loop_some(bytes, streams, turns, ways);
			continue;
		}
		loop_finish(bytes, &streams[first]);
		struct entropy_stream done = streams[first];
		streams[first] = streams[--count];
		streams[count] = done;
	}
}

#endif
