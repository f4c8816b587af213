/* SPDX-License-Identifier: MIT */
/*
 * A parsed value: an immutable tree of numbers, texts, lists and maps, as it came from a peer.
 *
 * It is an object of msgpack-c, which only these functions look into. Owns nothing: the tree and
 * the texts belong to the decoder (proto/pack.h) that made them. Whatever is asked of whatever
 * value has an answer: what a value is not is 0, "" or NULL, and NULL is nil. Any thread. Knows no
 * message and no socket.
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

struct value;

enum value_kind value_kind(const struct value *value);
bool value_boolean(const struct value *value);
uint64_t value_uint(const struct value *value);
int64_t value_sint(const struct value *value);
double value_float(const struct value *value);
struct text value_text(const struct value *value); /* str or bin */
/* Count the values of a list, or the pairs of a map. */
uint32_t value_count(const struct value *value);
const struct value *value_item(const struct value *list, uint32_t i);
struct text value_key(const struct value *map, uint32_t i); /* of a pair ... */
const struct value *value_at(const struct value *map, uint32_t i);

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
