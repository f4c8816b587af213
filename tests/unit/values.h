/* SPDX-License-Identifier: MIT */
/*
 * Trees of values as literals, for what takes one. The product gives `struct value` no members: it
 * is an object of msgpack-c (proto/value.c), and so here.
 */
#ifndef STOKER_TEST_VALUES_H
#define STOKER_TEST_VALUES_H

#include <msgpack.h>
#include <string.h>

#include "proto/value.h"

struct value {
	msgpack_object object;
};

struct pair {
	struct value key, value;
};

#define OBJECT(type_, member_, ...)                                                                \
	{                                                                                          \
		{                                                                                  \
			.type = MSGPACK_OBJECT_##type_, .via = {.member_ = __VA_ARGS__ }           \
		}                                                                                  \
	}
#define TEXT_OF(data_, size_) OBJECT(STR, str, {.size = (uint32_t)(size_), .ptr = data_})
#define TEXT(string_) TEXT_OF(string_, sizeof(string_) - 1)
#define UINT(number_) OBJECT(POSITIVE_INTEGER, u64, number_)
#define SINT(number_) OBJECT(NEGATIVE_INTEGER, i64, number_)
#define REAL(number_) OBJECT(FLOAT64, f64, number_)
#define BOOLEAN(truth_) OBJECT(BOOLEAN, boolean, truth_)
#define NIL OBJECT(NIL, u64, 0)
#define LIST_OF(items_, count_)                                                                    \
	OBJECT(ARRAY, array, {.size = count_, .ptr = (msgpack_object *)(items_)})
#define MAP_OF(pairs_, count_)                                                                     \
	OBJECT(MAP, map, {.size = count_, .ptr = (msgpack_object_kv *)(pairs_)})
#define MANY(type_, ...) sizeof((const type_[]){__VA_ARGS__}) / sizeof(type_)
#define LIST(...) LIST_OF(((const struct value[]){__VA_ARGS__}), MANY(struct value, __VA_ARGS__))
#define MAP(...) MAP_OF(((const struct pair[]){__VA_ARGS__}), MANY(struct pair, __VA_ARGS__))
#define KEY(name_, ...)                                                                            \
	{                                                                                          \
		TEXT(name_), __VA_ARGS__                                                           \
	}
#define NAMED(name_, ...) MAP(KEY("name", TEXT(name_)), __VA_ARGS__)
#define BARE(name_) MAP(KEY("name", TEXT(name_)))

static inline struct value text_value(const char *text)
{
	return (struct value)TEXT_OF(text, strlen(text));
}

static inline struct pair pair(const char *key, const char *text)
{
	return (struct pair){text_value(key), text_value(text)};
}

#endif
