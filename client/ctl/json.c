/* SPDX-License-Identifier: MIT */
#include "client/ctl/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/message.h"

#define REPLACEMENT "\xef\xbf\xbd"

/* The size of the well-formed UTF-8 character that begins here; 0: there is none. */
static size_t utf8_length(const unsigned char *at, size_t left)
{
	size_t size = *at < 0x80 ? 1 : *at < 0xc2 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : 4;
	if (size == 0 || size > left || *at > 0xf4)
		return 0;
	for (size_t i = 1; i < size; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	/* Overlong forms, surrogates, and what is above U+10FFFF. */
	if ((*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] > 0x9f) ||
	    (*at == 0xf0 && at[1] < 0x90) || (*at == 0xf4 && at[1] > 0x8f))
		return 0;
	return size;
}

/* A copy that is valid UTF-8 without NULs, NUL-terminated; the caller frees it. */
static char *utf8_of(struct text text)
{
	char *out = malloc(text.size * strlen(REPLACEMENT) + 1), *end = out;
	if (!out)
		return NULL;
	for (size_t i = 0; i < text.size;) {
		const unsigned char *at = (const unsigned char *)text.data + i;
		size_t size = *at ? utf8_length(at, text.size - i) : 0;
		end = mempcpy(end, size ? (const char *)at : REPLACEMENT,
			      size ? size : strlen(REPLACEMENT));
		i += size ? size : 1;
	}
	*end = '\0';
	return out;
}

json_t *json_of_text(struct text text)
{
	char *utf8 = utf8_of(text);
	json_t *json = utf8 ? json_string_nocheck(utf8) : NULL;
	free(utf8);
	return json;
}

json_t *json_of_fault(const struct fault *fault)
{
	const struct text text = {fault->text, strlen(fault->text)};
	return json_pack("{sissso?}", "code", (int)fault->code, "name",
			 fault->code ? error_name(fault->code) : "client", "text",
			 json_of_text(text));
}

static json_t *json_of_uint(uint64_t uint)
{
	char digits[24];
	if (uint <= INT64_MAX)
		return json_integer((json_int_t)uint);
	snprintf(digits, sizeof(digits), "%" PRIu64, uint);
	return json_string(digits);
}

static json_t *json_of_list(const struct value *value)
{
	json_t *json = json_array();
	for (uint32_t i = 0; json && i < value_count(value); i++) {
		if (json_array_append_new(json, json_of(value_item(value, i))) == 0)
			continue;
		json_decref(json);
		json = NULL;
	}
	return json;
}

static json_t *json_of_map(const struct value *value)
{
	json_t *json = json_object();
	for (uint32_t i = 0; json && i < value_count(value); i++) {
		char *key = utf8_of(value_key(value, i));
		int failed =
			!key || json_object_set_new_nocheck(json, key, json_of(value_at(value, i)));
		free(key);
		if (!failed)
			continue;
		json_decref(json);
		json = NULL;
	}
	return json;
}

json_t *json_of(const struct value *value)
{
	switch (value_kind(value)) {
	case VALUE_NIL:
		return json_null();
	case VALUE_BOOLEAN:
		return json_boolean(value_boolean(value));
	case VALUE_UINT:
		return json_of_uint(value_uint(value));
	case VALUE_INT:
		return json_integer(value_sint(value));
	case VALUE_FLOAT:
		return json_real(value_float(value));
	case VALUE_TEXT:
		return json_of_text(value_text(value));
	case VALUE_LIST:
		return json_of_list(value);
	case VALUE_MAP:
		return json_of_map(value);
	}
	return NULL;
}

void json_write(FILE *file, const json_t *json, size_t flags)
{
	flags |= JSON_REAL_PRECISION(9);
	if (!isatty(STDOUT_FILENO)) {
		(void)json_dumpf(json, file, flags);
		return;
	}
	/* Jansson escapes what is below 0x20 in any case. */
	char *text = json_dumps(json, flags | JSON_ENSURE_ASCII);
	for (const char *at = text; at && *at; at++)
		if (*at == 0x7f)
			fputs("\\u007f", file);
		else
			fputc(*at, file);
	free(text);
}

/* An error of writing is found when the program closes stdout. */
void json_print(const json_t *json)
{
	json_write(stdout, json, JSON_INDENT(2));
	putchar('\n');
}
