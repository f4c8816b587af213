/* SPDX-License-Identifier: MIT */
/* A value is a msgpack_object, and `struct value` a name for it that nobody needs to know more of.
 */
#include "proto/value.h"

#include <msgpack.h>
#include <string.h>

static const msgpack_object *object_of(const struct value *value)
{
	return (const msgpack_object *)value;
}

enum value_kind value_kind(const struct value *value)
{
	static const uint8_t kinds[] = {
		[MSGPACK_OBJECT_NIL] = VALUE_NIL,
		[MSGPACK_OBJECT_BOOLEAN] = VALUE_BOOLEAN,
		[MSGPACK_OBJECT_POSITIVE_INTEGER] = VALUE_UINT,
		[MSGPACK_OBJECT_NEGATIVE_INTEGER] = VALUE_INT,
		[MSGPACK_OBJECT_FLOAT64] = VALUE_FLOAT,
		[MSGPACK_OBJECT_FLOAT32] = VALUE_FLOAT,
		[MSGPACK_OBJECT_STR] = VALUE_TEXT,
		[MSGPACK_OBJECT_BIN] = VALUE_TEXT,
		[MSGPACK_OBJECT_ARRAY] = VALUE_LIST,
		[MSGPACK_OBJECT_MAP] = VALUE_MAP,
		[MSGPACK_OBJECT_EXT] = VALUE_NIL, /* pack_check() refuses those */
	};

	return value ? (enum value_kind)kinds[object_of(value)->type] : VALUE_NIL;
}

bool value_boolean(const struct value *value)
{
	return value_kind(value) == VALUE_BOOLEAN && object_of(value)->via.boolean;
}

uint64_t value_uint(const struct value *value)
{
	return value_kind(value) == VALUE_UINT ? object_of(value)->via.u64 : 0;
}

int64_t value_sint(const struct value *value)
{
	return value_kind(value) == VALUE_INT ? object_of(value)->via.i64 : 0;
}

double value_float(const struct value *value)
{
	return value_kind(value) == VALUE_FLOAT ? object_of(value)->via.f64 : 0;
}

struct text value_text(const struct value *value)
{
	const msgpack_object *object = object_of(value);

	if (object && object->type == MSGPACK_OBJECT_STR)
		return (struct text){object->via.str.ptr, object->via.str.size};
	if (object && object->type == MSGPACK_OBJECT_BIN)
		return (struct text){object->via.bin.ptr, object->via.bin.size};
	return (struct text){"", 0};
}

uint32_t value_count(const struct value *value)
{
	if (value_kind(value) == VALUE_LIST)
		return object_of(value)->via.array.size;
	return value_kind(value) == VALUE_MAP ? object_of(value)->via.map.size : 0;
}

const struct value *value_item(const struct value *list, uint32_t i)
{
	if (value_kind(list) != VALUE_LIST || i >= value_count(list))
		return NULL;
	return (const struct value *)&object_of(list)->via.array.ptr[i];
}

/* NULL: there is none. */
static const msgpack_object_kv *pair_of(const struct value *map, uint32_t i)
{
	bool is = value_kind(map) == VALUE_MAP && i < value_count(map);

	return is ? &object_of(map)->via.map.ptr[i] : NULL;
}

struct text value_key(const struct value *map, uint32_t i)
{
	const msgpack_object_kv *pair = pair_of(map, i);

	return value_text(pair ? (const struct value *)&pair->key : NULL);
}

const struct value *value_at(const struct value *map, uint32_t i)
{
	const msgpack_object_kv *pair = pair_of(map, i);

	return pair ? (const struct value *)&pair->val : NULL;
}

bool text_equals(struct text text, const char *string)
{
	size_t size = strlen(string);

	return text.size == size && (size == 0 || memcmp(text.data, string, size) == 0);
}

void text_copy(char *out, size_t capacity, struct text text)
{
	size_t size = text.size < capacity - 1 ? text.size : capacity - 1;

	if (size)
		memcpy(out, text.data, size);
	out[size] = '\0';
}

/* Most keys differ in size, which is compared first, and has one place in str and bin. */
_Static_assert(offsetof(msgpack_object_str, size) == offsetof(msgpack_object_bin, size),
	       "one place");

const struct value *value_get(const struct value *map, const char *key)
{
	uint32_t size = (uint32_t)strlen(key);
	uint32_t count = value_kind(map) == VALUE_MAP ? object_of(map)->via.map.size : 0;

	for (uint32_t i = 0; i < count; i++) {
		const msgpack_object_kv *pair = &object_of(map)->via.map.ptr[i];
		const struct value *name = (const struct value *)&pair->key;

		if (pair->key.via.str.size == size && value_kind(name) == VALUE_TEXT &&
		    memcmp(value_text(name).data, key, size) == 0)
			return (const struct value *)&pair->val;
	}
	return NULL;
}

bool value_number(const struct value *value, double *out)
{
	switch (value_kind(value)) {
	case VALUE_UINT:
		*out = (double)value_uint(value);
		return true;
	case VALUE_INT:
		*out = (double)value_sint(value);
		return true;
	case VALUE_FLOAT:
		*out = value_float(value);
		return true;
	default:
		return false;
	}
}

const char *value_kind_name(enum value_kind kind)
{
	static const char *const names[] = {
		[VALUE_NIL] = "nil",
		[VALUE_BOOLEAN] = "boolean",
		[VALUE_UINT] = "whole number",
		[VALUE_INT] = "negative number",
		[VALUE_FLOAT] = "floating-point number",
		[VALUE_TEXT] = "text",
		[VALUE_LIST] = "list",
		[VALUE_MAP] = "map",
	};

	return names[kind];
}
