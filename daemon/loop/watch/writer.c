// SPDX-License-Identifier: MIT
#include "loop/watch/writer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRITER_FIRST 4096

void writer_deinit(struct writer *writer)
{
	free(writer->data);
	*writer = WRITER_NULL;
}

/* Room for so many bytes and a NUL. */
static bool writer_room(struct writer *writer, size_t size)
{
	size_t need = writer->size + size + 1;
	if (writer->failed || need <= writer->capacity)
		return !writer->failed;
	size_t capacity = need * 2 < WRITER_FIRST ? WRITER_FIRST : need * 2;
	char *data = realloc(writer->data, capacity);
	writer->failed = !data;
	if (!data)
		return false;
	writer->data = data;
	writer->capacity = capacity;
	return true;
}

void writer_add_bytes(struct writer *writer, const void *data, size_t size)
{
	if (!writer_room(writer, size))
		return;
	memcpy(writer->data + writer->size, data, size);
	writer->size += size;
	writer->data[writer->size] = '\0';
}

void writer_add(struct writer *writer, const char *format, ...)
{
	va_list list, again;
	va_start(list, format);
	va_copy(again, list);
	/* Nearly always there is room: it is written once. */
	size_t room = writer->failed ? 0 : writer->capacity - writer->size;
	char *end = room ? writer->data + writer->size : NULL;
	int size = vsnprintf(end, room, format, list);
	if (size >= 0 && (size_t)size >= room && writer_room(writer, (size_t)size))
		vsnprintf(writer->data + writer->size, (size_t)size + 1, format, again);
	if (size >= 0 && !writer->failed)
		writer->size += (size_t)size;
	va_end(again);
	va_end(list);
}

/* The bytes of the UTF-8 character at `text`; 0: it is none. Overlong forms and surrogates are
 * none. */
static size_t character_size(const unsigned char *text)
{
	static const struct {
		unsigned char mask, lead;
		unsigned least;
	} forms[] = {{0x80, 0, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
	for (size_t n = 0; n < sizeof(forms) / sizeof(*forms); n++) {
		if ((text[0] & forms[n].mask) != forms[n].lead)
			continue;
		unsigned code = text[0] & (unsigned char)~forms[n].mask;
		for (size_t i = 1; i <= n; i++) {
			if ((text[i] & 0xc0) != 0x80)
				return 0;
			code = code << 6 | (text[i] & 0x3f);
		}
		bool good =
			code >= forms[n].least && code <= 0x10ffff && (code & ~0x7ffu) != 0xd800;
		return good ? n + 1 : 0;
	}
	return 0;
}

void writer_add_json(struct writer *writer, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	writer_add_bytes(writer, "\"", 1);
	while (*at) {
		size_t size = character_size(at);
		if (size == 0)
			writer_add(writer, "\\ufffd");
		else if (*at < 0x20 || *at == '"' || *at == '\\' || *at == 0x7f)
			writer_add(writer, "\\u%04x", *at);
		else
			writer_add_bytes(writer, at, size);
		at += size ? size : 1;
	}
	writer_add_bytes(writer, "\"", 1);
}

/* Characters from `at` on that begin before `end`. */
static void add_label_part(struct writer *writer, const unsigned char *at, const unsigned char *end)
{
	while (at < end && *at) {
		size_t size = character_size(at);
		bool control = *at < 0x20 || *at == 0x7f || (*at == 0xc2 && at[1] < 0xa0);
		if (*at == '\n')
			writer_add(writer, "\\n");
		else if (size == 0 || control)
			writer_add(writer, "\xef\xbf\xbd");
		else if (*at == '"' || *at == '\\')
			writer_add(writer, "\\%c", *at);
		else
			writer_add_bytes(writer, at, size);
		at += size ? size : 1;
	}
}

void writer_add_label(struct writer *writer, const char *text)
{
	const size_t first = WRITER_LABEL_MAX - 24, last = WRITER_LABEL_MAX - first - 3;
	const unsigned char *at = (const unsigned char *)text;
	size_t size = strlen(text);
	writer_add_bytes(writer, "\"", 1);
	if (size > WRITER_LABEL_MAX) {
		size_t end = first;
		while (end > 0 && (at[end] & 0xc0) == 0x80) /* within a character */
			end--;
		add_label_part(writer, at, at + end);
		writer_add(writer, "...");
		at += size - last;
		while ((*at & 0xc0) == 0x80)
			at++;
	}
	add_label_part(writer, at, at + strlen((const char *)at));
	writer_add_bytes(writer, "\"", 1);
}
