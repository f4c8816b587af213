/* SPDX-License-Identifier: MIT */
/*
 * A parsed value: an immutable tree of numbers, texts, lists and maps, as it came from a peer.
 *
 * Owns nothing: the tree and the texts belong to the decoder (proto/pack.h) that made them. Any
 * thread. Knows no message, no socket and no msgpack.
 */
#ifndef STOKER_PROTO_VALUE_H
#define STOKER_PROTO_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes with a length, not terminated. Borrowed. */
struct text {
	const char *data;
	size_t size;
};

enum value_kind {
	VALUE_NIL,
	VALUE_BOOLEAN,
	VALUE_UINT,  /* 0 .. 2^64-1 */
	VALUE_INT,   /* below 0 */
	VALUE_FLOAT, /* finite */
	VALUE_TEXT,  /* str or bin */
	VALUE_LIST,
	VALUE_MAP, /* keys are texts, each only once */
};

struct value {
	enum value_kind kind;
	uint32_t count; /* of a list or a map */
	union {
		bool boolean;
		uint64_t uint;
		int64_t sint;
		double number;
		struct text text;
		const struct value *items;
		const struct pair *pairs;
	};
};

struct pair {
	struct text key;
	struct value value;
};

bool text_equals(struct text text, const char *string);
/* Cut to `capacity`, terminated. */
void text_copy(char *out, size_t capacity, struct text text);
/* The value of `key`, or NULL if `map` is not a map or has no such key. */
const struct value *value_get(const struct value *map, const char *key);
/* Any number (uint, int, float) as a double; false if `value` is not a number. */
bool value_number(const struct value *value, double *out);
/* "number", "text", ...: for messages to people. */
const char *value_kind_name(enum value_kind kind);

#endif
