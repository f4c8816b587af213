// SPDX-License-Identifier: MIT
#include "dataset/json_text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"

#define ESCAPE 6	  /* \uXXXX */
#define NUMBER_LONGEST 64 /* of those with a fraction or an exponent */

/* Written twice: the first time only counted, with `to` NULL. */
struct writer {
	char *to;
	size_t size;
	bool marked;
};

static void writer_put(struct writer *writer, const char *bytes, size_t size)
{
	if (writer->to)
		memcpy(writer->to + writer->size, bytes, size);
	writer->size += size;
}

static void writer_mark(struct writer *writer, const char *what, const char *bytes, size_t size)
{
	writer_put(writer, "{\"", 2);
	writer_put(writer, what, strlen(what));
	writer_put(writer, bytes, size);
	writer_put(writer, "\":null}", 7);
	writer->marked = true;
}

/* -- within strings --------------------------------------------------------------------------- */

/* The number of a \uXXXX, or -1. */
static long escape_code(const char *at, size_t left)
{
	if (left < ESCAPE || at[0] != '\\' || at[1] != 'u')
		return -1;
	for (int i = 2; i < ESCAPE; i++)
		if (!isxdigit((unsigned char)at[i]))
			return -1;
	return strtol((const char[]){at[2], at[3], at[4], at[5], '\0'}, NULL, 16);
}

static bool is_high(long code)
{
	return code >= 0xd800 && code < 0xdc00;
}

/* Length of the piece of a string at `at`: a character or an escape. If JSON cannot have it, it is
 * written to `shown` as an escape that says what it is; else that is empty. */
static size_t piece_length(const char *at, size_t left, char shown[ESCAPE + 2])
{
	const uint8_t *byte = (const uint8_t *)at;
	long code = escape_code(at, left);
	shown[0] = '\0';
	if (code >= 0) {
		long next = escape_code(at + ESCAPE, left - ESCAPE);
		if (is_high(code) && next >= 0xdc00 && next < 0xe000)
			return (size_t)2 * ESCAPE;
		if (code == 0 || (code >= 0xd800 && code < 0xe000))
			snprintf(shown, ESCAPE + 2, "\\%.*s", ESCAPE, at);
		return ESCAPE;
	}
	if (byte[0] < 0x80)
		return byte[0] == '\\' && left > 1 ? 2 : 1;
	/* U+0080 to U+009F are control characters to quote_character(). */
	bool control = byte[0] == 0xc2 && left > 1 && (byte[1] & 0xe0) == 0x80;
	size_t length = control ? 2 : quote_character(byte, left);
	if (length == 0)
		snprintf(shown, ESCAPE + 2, "\\\\x%02x", byte[0]);
	return length ? length : 1;
}

/* Length of the string at `at` with its quotes; to the end of the text if it has no end. `bad` is
 * its first piece that JSON cannot have. */
static size_t string_length(const char *at, size_t left, char bad[ESCAPE + 2])
{
	char shown[ESCAPE + 2];
	size_t length = 1;
	bad[0] = '\0';
	while (length < left && at[length] != '"') {
		length += piece_length(at + length, left - length, shown);
		if (!bad[0])
			memcpy(bad, shown, sizeof(shown));
	}
	return length < left ? length + 1 : left;
}

static bool string_is_key(const char *behind, size_t left)
{
	size_t blank = 0;
	while (blank < left && memchr(" \t\r\n", behind[blank], 4))
		blank++;
	return blank < left && behind[blank] == ':';
}

static void key_write(struct writer *writer, const char *at, size_t size)
{
	char shown[ESCAPE + 2];
	for (size_t length; size > 0; at += length, size -= length) {
		length = piece_length(at, size, shown);
		if (shown[0])
			writer_put(writer, shown, strlen(shown));
		else
			writer_put(writer, at, length);
	}
	writer->marked = true;
}

static size_t string_write(struct writer *writer, const char *at, size_t left)
{
	char bad[ESCAPE + 2];
	size_t length = string_length(at, left, bad);
	if (!bad[0])
		writer_put(writer, at, length);
	else if (string_is_key(at + length, left - length))
		key_write(writer, at, length);
	else
		writer_mark(writer, "a text with ", bad, strlen(bad));
	return length;
}

/* -- words and numbers ------------------------------------------------------------------------ */

static bool word_is(const char *word, size_t size, const char *name)
{
	return size == strlen(name) && memcmp(word, name, size) == 0;
}

/* A number that neither 64 bits nor a double can hold. */
static bool word_is_too_large(const char *word, size_t size)
{
	char number[NUMBER_LONGEST];
	size_t sign = word[0] == '-', digits = sign;
	while (digits < size && isdigit((unsigned char)word[digits]))
		digits++;
	if (digits == sign || word[sign] == '0')
		return false;
	if (digits == size && size - sign > 19)
		return true;
	if (size >= sizeof(number))
		return false;
	memcpy(number, word, size);
	number[size] = '\0';
	char *end = number;
	errno = 0;
	if (digits == size)
		return strtoll(number, &end, 10) != 0 && errno == ERANGE;
	return isinf(strtod(number, &end)) && *end == '\0';
}

static size_t word_write(struct writer *writer, const char *at, size_t left)
{
	size_t size = 0;
	while (size < left && (isalnum((unsigned char)at[size]) || memchr("+-.", at[size], 3)))
		size++;
	bool marked = word_is(at, size, "NaN") || word_is(at, size, "Infinity") ||
		      word_is(at, size, "-Infinity") || word_is_too_large(at, size);
	if (marked)
		writer_mark(writer, "", at, size);
	else
		writer_put(writer, at, size);
	return size;
}

static void text_write(struct writer *writer, const char *text, size_t size)
{
	/* A mark of the byte order, which Python passes over, too. */
	size_t at = size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	writer->marked = at > 0;
	while (at < size) {
		if (text[at] == '"') {
			at += string_write(writer, text + at, size - at);
		} else if (isalnum((unsigned char)text[at]) || text[at] == '-') {
			at += word_write(writer, text + at, size - at);
		} else {
			writer_put(writer, text + at, 1);
			at++;
		}
	}
}

int json_text_mark(const char *text, size_t size, char **out, size_t *out_size)
{
	struct writer writer = {0};
	text_write(&writer, text, size);
	if (!writer.marked)
		return JSON_TEXT_NONE;
	char *made = malloc(writer.size);
	if (!made)
		return -ENOMEM;
	writer = (struct writer){.to = made};
	text_write(&writer, text, size);
	*out = made;
	*out_size = writer.size;
	return 0;
}
