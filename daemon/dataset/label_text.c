// SPDX-License-Identifier: MIT
#include "dataset/label_text.h"

#include <stdint.h>
#include <string.h>

/* Is it a blank, also one of Unicode, a zero-width mark or a byte order mark? None of them can be
 * seen beside a number. */
static bool is_blank(const char *text, size_t size)
{
	static const char *const blanks[] = {
		"\xc2\xa0",	"\xc2\x85",	"\xe1\x9a\x80", "\xe2\x80\xa8", "\xe2\x80\xa9",
		"\xe2\x80\xaf", "\xe2\x81\x9f", "\xe2\x81\xa0", "\xe3\x80\x80", "\xef\xbb\xbf"};
	if (size == 1)
		return *text == ' ' || (*text >= '\t' && *text <= '\r');
	if (size == 3 && memcmp(text, "\xe2\x80", 2) == 0 && (uint8_t)text[2] <= 0x8F)
		return true;
	for (size_t i = 0; i < sizeof(blanks) / sizeof(*blanks); i++)
		if (strlen(blanks[i]) == size && memcmp(text, blanks[i], size) == 0)
			return true;
	return false;
}

/* Bytes of the blank that `text` begins with, or ends with; 0: none. */
static size_t blank_at(const char *text, size_t size, bool end)
{
	for (size_t blank = 1; blank <= 3 && blank <= size; blank++) {
		if (is_blank(end ? text + size - blank : text, blank))
			return blank;
	}
	return 0;
}

void label_text_strip(const char **text, size_t *size)
{
	size_t blank;
	while ((blank = blank_at(*text, *size, false)) > 0) {
		*text += blank;
		*size -= blank;
	}
	while ((blank = blank_at(*text, *size, true)) > 0)
		*size -= blank;
}

/* Number of digits at the start of a text. */
static size_t count_digits(const char *text, const char *end)
{
	const char *at = text;
	while (at < end && *at >= '0' && *at <= '9')
		at++;
	return (size_t)(at - text);
}

static const char *skip_sign(const char *text, const char *end)
{
	return text + (text < end && (*text == '-' || *text == '+'));
}

/* Check by hand: strtof() would accept "0x1p3", "inf" and "nan", too. */
bool label_text_is_number(const char *text, size_t size, bool *whole_out)
{
	const char *end = text + size;
	bool whole = true;
	text = skip_sign(text, end);
	size_t digits = count_digits(text, end);
	text += digits;
	if (text < end && *text == '.') {
		size_t fraction = count_digits(++text, end);
		text += fraction;
		digits += fraction;
		whole = false;
	}
	if (digits && text < end && (*text == 'e' || *text == 'E')) {
		text = skip_sign(text + 1, end);
		digits = count_digits(text, end);
		text += digits;
		whole = false;
	}
	*whole_out = whole;
	return digits && text == end;
}

bool label_text_is_several(const char *text, size_t size)
{
	static const char between[] = " ,;|\t\r\n";
	bool digit = false, parted = false;
	for (size_t i = 0; i < size; i++) {
		bool part = text[i] && strchr(between, text[i]);
		bool number = text[i] >= '0' && text[i] <= '9';
		if (!part && !number && (!text[i] || !strchr("+-.eE", text[i])))
			return false;
		digit = digit || number;
		parted = parted || part;
	}
	return digit && parted;
}

bool label_text_is_object(const char *text, size_t size)
{
	return size >= 2 && text[0] == '{' && text[size - 1] == '}';
}

bool label_text_is_list(const char **text, size_t *size)
{
	if (*size < 2 || (*text)[0] != '[' || (*text)[*size - 1] != ']')
		return false;
	*text += 1;
	*size -= 2;
	return true;
}

bool label_text_next(const char **text, size_t *size, const char **entry_out,
		     size_t *entry_size_out)
{
	static const char between[] = " ,\t\r\n";
	const char *at = *text, *end = *text + *size;
	while (at < end && *at && strchr(between, *at))
		at++;
	const char *begin = at;
	while (at < end && *at && !strchr(between, *at))
		at++;
	if (at == begin)
		return false;
	*entry_out = begin;
	*entry_size_out = (size_t)(at - begin);
	*text = at;
	*size = (size_t)(end - at);
	return true;
}
