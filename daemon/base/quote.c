// SPDX-License-Identifier: MIT
#include "base/quote.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define DOTS "..."
#define NAME_LONGEST 40

size_t quote_character(const uint8_t *at, size_t left)
{
	static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
	size_t length = at[0] < 0x80   ? 1
			: at[0] < 0xc2 ? 0
			: at[0] < 0xe0 ? 2
			: at[0] < 0xf0 ? 3
				       : 4;
	if (length == 0 || length > left || at[0] > 0xf4)
		return 0;
	uint32_t code = length == 1 ? at[0] : at[0] & (0xffu >> (length + 1));
	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (at[i] & 0x3f);
	}
	bool surrogate = code >= 0xd800 && code <= 0xdfff;
	bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
	bool none = code < smallest[length] || code > 0x10ffff;
	return none || surrogate || control ? 0 : length;
}

const char *quote_bytes(struct quote *quote, const char *bytes, size_t size)
{
	const uint8_t *from = (const uint8_t *)bytes;
	size_t at = 0, used = 0;
	if (size > QUOTE_MAX) {
		at = size - (QUOTE_MAX - strlen(DOTS));
		while (at < size && (from[at] & 0xc0) == 0x80)
			at++;
		used = strlen(strcpy(quote->text, DOTS));
	}
	while (at < size) {
		size_t length = quote_character(from + at, size - at);
		size_t need = length ? length : 4;
		if (used + need > QUOTE_MAX)
			break;
		if (length)
			memcpy(quote->text + used, from + at, length);
		else
			snprintf(quote->text + used, 5, "\\x%02x", from[at]);
		used += need;
		at += length ? length : 1;
	}
	quote->text[used] = '\0';
	return quote->text;
}

const char *quote_text(struct quote *quote, const char *string)
{
	return quote_bytes(quote, string, strlen(string));
}

struct quote quote_number(uint64_t number)
{
	char digits[24];
	struct quote out;
	int count = snprintf(digits, sizeof(digits), "%" PRIu64, number);
	char *to = out.text;
	for (int i = 0; i < count; i++) {
		if (i > 0 && (count - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return out;
}

static char quote_fold(char letter)
{
	if (letter >= 'A' && letter <= 'Z')
		return (char)(letter - 'A' + 'a');
	return letter == '_' ? '-' : letter;
}

static unsigned quote_least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Optimal string alignment distance; both at most NAME_LONGEST letters. */
static unsigned quote_distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
	unsigned rows[3][NAME_LONGEST + 1];
	for (unsigned j = 0; j <= b_size; j++)
		rows[0][j] = j;
	for (unsigned i = 1; i <= a_size; i++) {
		unsigned *row = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
		row[0] = i;
		for (unsigned j = 1; j <= b_size; j++) {
			char x = quote_fold(a[i - 1]), y = quote_fold(b[j - 1]);
			row[j] = quote_least(last[j] + 1, row[j - 1] + 1);
			row[j] = quote_least(row[j], last[j - 1] + (x != y));
			if (i > 1 && j > 1 && x == quote_fold(b[j - 2]) &&
			    y == quote_fold(a[i - 2]))
				row[j] = quote_least(row[j], before[j - 2] + 1);
		}
	}
	return rows[a_size % 3][b_size];
}

const char *quote_nearest(const char *bytes, size_t size, const char *const *names)
{
	if (size == 0 || size > NAME_LONGEST)
		return NULL;
	const char *nearest = NULL;
	unsigned least = size <= 3 ? 1 : size <= 7 ? 2 : 3;
	for (; *names; names++) {
		size_t name_size = strlen(*names);
		if (name_size > NAME_LONGEST)
			continue;
		unsigned distance = quote_distance(bytes, size, *names, name_size);
		if (distance < least || (distance == least && !nearest)) {
			nearest = *names;
			least = distance;
		}
	}
	return nearest;
}
