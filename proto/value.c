/* SPDX-License-Identifier: MIT */
/*
 * Looking into a parsed value. Pure; any thread. Whatever a peer put into the tree, each function
 * has an answer: no kind of value is a mistake of the caller.
 */
#include "proto/value.h"

#include <string.h>

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

const struct value *value_get(const struct value *map, const char *key)
{
	size_t size = strlen(key);

	if (map->kind != VALUE_MAP)
		return NULL;
	for (uint32_t i = 0; i < map->count; i++) {
		const struct pair *pair = &map->pairs[i];

		if (pair->key.size == size && (size == 0 || !memcmp(pair->key.data, key, size)))
			return &pair->value;
	}
	return NULL;
}

bool value_number(const struct value *value, double *out)
{
	switch (value->kind) {
	case VALUE_UINT:
		*out = (double)value->uint;
		return true;
	case VALUE_INT:
		*out = (double)value->sint;
		return true;
	case VALUE_FLOAT:
		*out = value->number;
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
