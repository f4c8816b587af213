/* SPDX-License-Identifier: MIT */
/*
 * The decoding loop of entropy_kernel.h as inline functions: each kernel's file includes this and
 * is compiled for its instruction set. It is fast since no branch depends on a symbol, so the
 * processor works on several streams at once, and since one table look-up gives code and value.
 */
#ifndef STOKER_DECODE_JPEG_ENTROPY_LOOP_H
#define STOKER_DECODE_JPEG_ENTROPY_LOOP_H

#include <stdint.h>
#include <string.h>

#include "decode/jpeg/entropy_kernel.h"

#define LOOP_INLINE static inline __attribute__((always_inline))
#define LOOP_STEPS 4 /* between two loads: 56 bits are 5 steps of 11 */

/* At least 57 bits from `bit` on, at the top of the word. */
LOOP_INLINE uint64_t loop_load(const uint8_t *bytes, uint64_t bit)
{
	uint64_t word;
	memcpy(&word, bytes + (bit >> 3), sizeof(word));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	return word << (bit & 7);
}

/* A stream in registers. The lowest bit of the loaded word is set to one; shifts move it up, so its
 * position tells how many bits have been used, without a counter. */
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

/* A step that is not in the table. Returns entry | value << 32. */
LOOP_INLINE uint64_t loop_step_escape(struct loop_stream *s, const uint8_t *bytes, uint64_t entry)
{
	loop_refill(s, bytes);
	if (entry == 0) {
		entry = entropy_step_long(s->step, s->bits);
		s->bits <<= entry & 63;
	} else {
		unsigned length = ENTROPY_ESCAPE_LENGTH(entry), size = ENTROPY_ESCAPE_SIZE(entry);
		s->bits <<= length;
		int32_t value = huffman_value(s->bits, size);
		s->bits <<= size;
		entry = (entry & 0xFFFFFF) | (uint64_t)(uint32_t)value << 32;
	}
	loop_refill(s, bytes);
	return entry;
}

LOOP_INLINE void loop_step(struct loop_stream *s, const uint8_t *bytes)
{
	uint64_t entry = s->step[s->bits >> (64 - HUFFMAN_QUICK)];
	int32_t wide = (int32_t)(uint32_t)entry >> 24;
	if (__builtin_expect((entry & 63) == 0, 0)) {
		entry = loop_step_escape(s, bytes, entry);
		wide = (int32_t)(entry >> 32);
	} else {
		s->bits <<= entry & 63;
	}
	/* The blocks are aligned: the low bits of the address are the position in the block. */
	uintptr_t to = ((uintptr_t)s->at + (entry >> 8 & 255)) | (entry >> 16 & ENTROPY_END);
	int16_t value = (int16_t)wide;
	s->at = (char *)to;
	memcpy(s->at, &value, sizeof(value));
	uintptr_t full = ((to + 2) ^ to) & 128; /* the block is complete */
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

/* LOOP_STEPS * rounds steps of each stream; `count` is a constant. */
LOOP_INLINE void loop_rounds(const uint8_t *bytes, struct entropy_stream *streams, size_t rounds,
			     const int count)
{
	struct loop_stream a = loop_enter(&streams[0]);
	struct loop_stream b = loop_enter(&streams[count > 1 ? 1 : 0]);
	struct loop_stream c = loop_enter(&streams[count > 2 ? 2 : 0]);
	struct loop_stream d = loop_enter(&streams[count > 3 ? 3 : 0]);
	for (; rounds > 0; rounds--) {
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

/* Rounds that cannot pass the stream's end: a block takes at least two steps. */
LOOP_INLINE size_t loop_safe_rounds(const struct entropy_stream *s)
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

#define LOOP_STREAMS 4 /* streams at a time */

LOOP_INLINE void loop_rounds_of(const uint8_t *bytes, struct entropy_stream *streams, size_t rounds,
				unsigned count)
{
	if (count >= 4)
		loop_rounds(bytes, streams, rounds, 4);
	else if (count == 3)
		loop_rounds(bytes, streams, rounds, 3);
	else if (count == 2)
		loop_rounds(bytes, streams, rounds, 2);
	else
		loop_rounds(bytes, streams, rounds, 1);
}

/* The first LOOP_STREAMS streams are decoded together; one that ends is replaced by the last, so
 * their order changes. */
LOOP_INLINE void loop_run(const uint8_t *bytes, struct entropy_stream *streams, unsigned count)
{
	while (count > 0) {
		unsigned active = count < LOOP_STREAMS ? count : LOOP_STREAMS, first = 0;
		size_t rounds = SIZE_MAX;
		for (unsigned i = 0; i < active; i++) {
			size_t sure = loop_safe_rounds(&streams[i]);
			if (sure < rounds) {
				rounds = sure;
				first = i;
			}
		}
		if (rounds > 0) {
			loop_rounds_of(bytes, streams, rounds, active);
			continue;
		}
		loop_finish(bytes, &streams[first]);
		struct entropy_stream done = streams[first];
		streams[first] = streams[--count];
		streams[count] = done;
	}
}

#endif
