/* SPDX-License-Identifier: MIT */
/*
 * A walk over msgpack by the first byte of each value. A value of a list takes at least one byte
 * and a pair of a map two, so a count that is too large for the bytes is refused where it stands.
 */
#include "proto/check.h"

#include "proto/tables.h"

/* The kind of a value, by its first byte: what its argument counts. */
enum lead_kind {
	LEAD_REFUSED, /* ext, and the byte that msgpack never uses */
	LEAD_SCALAR,  /* the argument is the value */
	LEAD_BYTES,   /* the argument is a length */
	LEAD_LIST,    /* the argument is a count */
	LEAD_MAP,
};

struct lead {
	uint8_t kind;
	uint8_t argument; /* its bytes after the first one; 0: it is in the first byte */
};

#define LEADS_FROM 0xc0
static const struct lead leads[] = {
	[0xc0 - LEADS_FROM] = {LEAD_SCALAR, 0}, /* nil */
	[0xc1 - LEADS_FROM] = {LEAD_REFUSED, 0},
	[0xc2 - LEADS_FROM] = {LEAD_SCALAR, 0}, /* false */
	[0xc3 - LEADS_FROM] = {LEAD_SCALAR, 0}, /* true */
	[0xc4 - LEADS_FROM] = {LEAD_BYTES, 1},	/* bin */
	[0xc5 - LEADS_FROM] = {LEAD_BYTES, 2},
	[0xc6 - LEADS_FROM] = {LEAD_BYTES, 4},
	[0xc7 - LEADS_FROM] = {LEAD_REFUSED, 0}, /* ext, to 0xc9 */
	[0xca - LEADS_FROM] = {LEAD_SCALAR, 4},	 /* float */
	[0xcb - LEADS_FROM] = {LEAD_SCALAR, 8},
	[0xcc - LEADS_FROM] = {LEAD_SCALAR, 1}, /* uint */
	[0xcd - LEADS_FROM] = {LEAD_SCALAR, 2},
	[0xce - LEADS_FROM] = {LEAD_SCALAR, 4},
	[0xcf - LEADS_FROM] = {LEAD_SCALAR, 8},
	[0xd0 - LEADS_FROM] = {LEAD_SCALAR, 1}, /* int */
	[0xd1 - LEADS_FROM] = {LEAD_SCALAR, 2},
	[0xd2 - LEADS_FROM] = {LEAD_SCALAR, 4},
	[0xd3 - LEADS_FROM] = {LEAD_SCALAR, 8},
	[0xd4 - LEADS_FROM] = {LEAD_REFUSED, 0}, /* fixext, to 0xd8 */
	[0xd9 - LEADS_FROM] = {LEAD_BYTES, 1},	 /* str */
	[0xda - LEADS_FROM] = {LEAD_BYTES, 2},
	[0xdb - LEADS_FROM] = {LEAD_BYTES, 4},
	[0xdc - LEADS_FROM] = {LEAD_LIST, 2},
	[0xdd - LEADS_FROM] = {LEAD_LIST, 4},
	[0xde - LEADS_FROM] = {LEAD_MAP, 2},
	[0xdf - LEADS_FROM] = {LEAD_MAP, 4},
};

/* The kind of a first byte; `in_byte` is the argument if the byte itself carries it. */
static struct lead lead_of(uint8_t byte, uint32_t *in_byte)
{
	*in_byte = 0;
	if (byte < 0x80 || byte >= 0xe0)
		return (struct lead){LEAD_SCALAR, 0};
	if (byte >= 0xc0)
		return leads[byte - LEADS_FROM];
	*in_byte = byte < 0xa0 ? byte & 0x0f : byte & 0x1f;
	if (byte < 0x90)
		return (struct lead){LEAD_MAP, 0};
	return (struct lead){byte < 0xa0 ? LEAD_LIST : LEAD_BYTES, 0};
}

/* A walk over the bytes: `pending[depth]` values are still to come in the container at `depth`. */
struct walk {
	const uint8_t *at;
	size_t left;
	uint32_t nodes;
	unsigned depth;
	uint32_t pending[PROTO_DEPTH_MAX + 1];
};

static const char *walk_enter(struct walk *walk, uint64_t values)
{
	if (values > walk->left)
		return "a list or map claims more values than there are bytes";
	if (values > PROTO_NODES_MAX - walk->nodes)
		return "too many values";
	if (walk->depth == PROTO_DEPTH_MAX)
		return "lists and maps are nested too deeply";
	walk->nodes += (uint32_t)values;
	walk->pending[++walk->depth] = (uint32_t)values;
	return NULL;
}

/* One value, without those inside it. */
static const char *walk_value(struct walk *walk)
{
	uint32_t count;
	struct lead lead;

	if (walk->left == 0)
		return "the bytes end within a value";
	lead = lead_of(*walk->at, &count);
	if (walk->left < 1u + lead.argument)
		return "the bytes end within a value";
	if (lead.argument && lead.kind != LEAD_SCALAR)
		for (unsigned i = 1; i <= lead.argument; i++)
			count = count << 8 | walk->at[i];
	walk->at += 1 + lead.argument;
	walk->left -= 1 + lead.argument;

	switch (lead.kind) {
	case LEAD_SCALAR:
		return NULL;
	case LEAD_BYTES:
		if (count > walk->left)
			return "a text claims more bytes than there are";
		walk->at += count;
		walk->left -= count;
		return NULL;
	case LEAD_LIST:
		return walk_enter(walk, count);
	case LEAD_MAP:
		return walk_enter(walk, 2 * (uint64_t)count);
	default:
		return "a value of a type that the protocol does not use (ext)";
	}
}

/* One value with those inside it. */
static const char *walk_tree(struct walk *walk)
{
	walk->nodes++;
	walk->pending[0] = 1;
	for (;;) {
		const char *why;

		while (walk->depth > 0 && walk->pending[walk->depth] == 0)
			walk->depth--;
		if (walk->pending[walk->depth] == 0)
			return NULL;
		walk->pending[walk->depth]--;
		why = walk_value(walk);
		if (why)
			return why;
	}
}

const char *bytes_check(const uint8_t *bytes, size_t size, uint32_t *nodes_out)
{
	struct walk walk = {.at = bytes, .left = size};
	const char *why = walk_tree(&walk);

	if (why)
		return why;
	if (walk.left > 0)
		return "there are bytes after the value";
	*nodes_out = walk.nodes;
	return NULL;
}

const char *bytes_count(const uint8_t *bytes, size_t size, uint32_t *count_out)
{
	struct walk walk = {.at = bytes, .left = size};
	uint32_t count = 0;

	for (; walk.left > 0; count++) {
		const char *why =
			walk.nodes < PROTO_NODES_MAX ? walk_tree(&walk) : "too many values";

		if (why)
			return why;
	}
	*count_out = count;
	return NULL;
}
