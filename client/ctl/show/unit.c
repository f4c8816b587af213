/* SPDX-License-Identifier: MIT */
#include "client/ctl/show/unit.h"

#include <stdio.h>
#include <string.h>

static void write_bytes(double bytes, char *out, size_t size)
{
	static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	int i = 0;
	for (; bytes >= 1024 && i < 6; i++)
		bytes /= 1024;
	if (i == 0)
		snprintf(out, size, "%.0f B", bytes);
	else
		snprintf(out, size, "%.1f %s", bytes, names[i]);
}

static void write_seconds(double seconds, char *out, size_t size)
{
	unsigned long long whole = seconds < 1e15 ? (unsigned long long)seconds : 1000000000000000u;
	if (seconds == 0)
		snprintf(out, size, "0 s");
	else if (seconds < 1e-3)
		snprintf(out, size, "%.0f us", seconds * 1e6);
	else if (seconds < 1)
		snprintf(out, size, "%.0f ms", seconds * 1e3);
	else if (whole < 60)
		snprintf(out, size, "%.1f s", seconds);
	else if (whole < 3600)
		snprintf(out, size, "%llu min %02llu s", whole / 60, whole % 60);
	else if (whole < 86400)
		snprintf(out, size, "%llu h %02llu min", whole / 3600, whole / 60 % 60);
	else
		snprintf(out, size, "%llu d %02llu h", whole / 86400, whole / 3600 % 24);
}

/* One character, escaped if it is a control character. Returns the bytes read. */
static size_t escape(const char *text, char *out, size_t size)
{
	unsigned char c = (unsigned char)text[0];
	size_t length = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
	/* U+0080 to U+009F are control characters, too */
	unsigned control = c == 0xc2 && (unsigned char)text[1] < 0xa0 ? (unsigned char)text[1] : c;
	if (c == '\n' || c == '\t')
		snprintf(out, size, "\\%c", c == '\n' ? 'n' : 't');
	else if (control < 0x20 || control == 0x7f || control != c)
		snprintf(out, size, "\\x%02x", control);
	else
		snprintf(out, size, "%.*s", (int)length, text);
	return length;
}

static void write_text(const char *text, char *out, size_t size)
{
	size_t used = 0;
	out[0] = '\0';
	while (*text) {
		char one[8];
		text += escape(text, one, sizeof(one));
		if (used + strlen(one) >= size)
			return;
		memcpy(out + used, one, strlen(one) + 1);
		used += strlen(one);
	}
	if (used == 0)
		snprintf(out, size, "-");
}

static void write_number(const json_t *value, enum unit unit, char *out, size_t size)
{
	double number = json_number_value(value);
	if (unit == UNIT_BYTES)
		write_bytes(number, out, size);
	else if (unit == UNIT_SECONDS)
		write_seconds(number, out, size);
	else if (unit == UNIT_NS)
		write_seconds(number * 1e-9, out, size);
	else if (unit == UNIT_RATE)
		snprintf(out, size, "%.1f", number);
	else if (unit == UNIT_SHARE)
		snprintf(out, size, "%.1f %%", number * 100);
	else if (unit == UNIT_REFERENCE && number == 0)
		snprintf(out, size, "-");
	else if (json_is_integer(value))
		snprintf(out, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else
		snprintf(out, size, "%g", number);
}

void unit_write(const json_t *value, enum unit unit, char *out, size_t size)
{
	if (json_is_number(value) && (json_number_value(value) >= 0 || unit == UNIT_NONE))
		write_number(value, unit, out, size);
	else if (json_is_string(value))
		write_text(json_string_value(value), out, size);
	else if (json_is_boolean(value))
		snprintf(out, size, "%s", json_is_true(value) ? "yes" : "no");
	else
		snprintf(out, size, "-");
}

size_t unit_columns(const char *text)
{
	size_t columns = 0;
	for (; *text; text++)
		columns += ((unsigned char)*text & 0xc0) != 0x80;
	return columns;
}
