/* SPDX-License-Identifier: MIT */
#include "proto/jsontext.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "proto/tables.h"

/* The text that is still to be read. */
struct reader {
	const char *at;
	unsigned depth;
	locale_t locale; /* "C": in others a number has a comma */
};

static bool read_value(struct reader *reader, struct packer *packer);

static char next(struct reader *reader)
{
	reader->at += strspn(reader->at, " \t\r\n");
	return *reader->at;
}

static bool skip(struct reader *reader, char wanted)
{
	bool there = next(reader) == wanted;
	reader->at += there;
	return there;
}

static char *put_utf8(char *to, unsigned code)
{
	if (code < 0x80) {
		*to++ = (char)code;
		return to;
	}
	if (code < 0x800) {
		*to++ = (char)(0xc0 | code >> 6);
	} else {
		*to++ = (char)(0xe0 | code >> 12);
		*to++ = (char)(0x80 | (code >> 6 & 0x3f));
	}
	*to++ = (char)(0x80 | (code & 0x3f));
	return to;
}

/* Reads what stands behind a backslash; NULL: no escape does. Each half of a pair is a character.
 */
static char *read_escape(struct reader *reader, char *to)
{
	static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
	char c = *reader->at, digits[5] = "";
	if (!c)
		return NULL;
	const char *name = strchr(names, c);
	reader->at++;
	if (name) {
		*to++ = bytes[name - names];
		return to;
	}
	strncpy(digits, reader->at, 4);
	if (c != 'u' || strspn(digits, "0123456789abcdefABCDEF") != 4)
		return NULL;
	reader->at += 4;
	return put_utf8(to, (unsigned)strtoul(digits, NULL, 16));
}

static bool read_text(struct reader *reader, struct packer *packer)
{
	if (!skip(reader, '"'))
		return false;
	char *text = malloc(strlen(reader->at) + 1), *to = text; /* escapes are longer */
	while (to && *reader->at && *reader->at != '"')
		if (*reader->at == '\\') {
			reader->at++;
			to = read_escape(reader, to);
		} else {
			*to++ = *reader->at++;
		}
	bool good = to && *reader->at == '"';
	if (good) {
		reader->at++;
		pack_text(packer, (struct text){text, (size_t)(to - text)});
	}
	free(text);
	return good;
}

static bool read_map(struct reader *reader, struct packer *packer)
{
	size_t map = pack_map_begin(packer);
	bool good = true;
	if (!skip(reader, '}')) {
		do {
			next(reader);
			good = read_text(reader, packer) && skip(reader, ':') &&
			       read_value(reader, packer);
		} while (good && skip(reader, ','));
		good = good && skip(reader, '}');
	}
	if (good)
		pack_map_end(packer, map);
	return good;
}

static bool read_list(struct reader *reader, struct packer *packer)
{
	struct packer *items;
	uint32_t count = 0;
	bool good = packer_new(&items) == 0;
	if (!good)
		return false;
	if (!skip(reader, ']')) {
		do {
			good = read_value(reader, items);
			count++;
		} while (good && skip(reader, ','));
		good = good && skip(reader, ']');
	}
	pack_list(packer, count);
	pack_packer(packer, items);
	packer_free(items);
	return good;
}

static bool read_number(struct reader *reader, struct packer *packer)
{
	size_t size = strspn(reader->at, "+-.0123456789eE");
	bool whole = strcspn(reader->at, ".eE") >= size;
	char *end = NULL;
	errno = 0;
	if (whole && *reader->at == '-')
		pack_int(packer, strtoll(reader->at, &end, 10));
	else if (whole)
		pack_uint(packer, strtoull(reader->at, &end, 10));
	else
		pack_float(packer, strtod_l(reader->at, &end, reader->locale));
	bool good = size > 0 && end == reader->at + size && errno == 0;
	reader->at += size;
	return good;
}

static bool read_word(struct reader *reader, const char *word)
{
	bool there = strncmp(reader->at, word, strlen(word)) == 0;
	reader->at += there ? strlen(word) : 0;
	return there;
}

static bool read_value(struct reader *reader, struct packer *packer)
{
	char c = next(reader);
	bool good = false;
	if (c == '"')
		return read_text(reader, packer);
	if (c == '{' || c == '[') {
		reader->at++;
		if (++reader->depth < PROTO_DEPTH_MAX)
			good = c == '{' ? read_map(reader, packer) : read_list(reader, packer);
		reader->depth--;
		return good;
	}
	if (read_word(reader, "null"))
		pack_nil(packer);
	else if (read_word(reader, "true"))
		pack_boolean(packer, true);
	else if (read_word(reader, "false"))
		pack_boolean(packer, false);
	else
		return read_number(reader, packer);
	return true;
}

bool jsontext_read(struct packer *packer, const char *json)
{
	struct reader reader = {.at = json, .locale = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
	if (!reader.locale)
		return false;
	bool good = read_value(&reader, packer) && next(&reader) == '\0';
	freelocale(reader.locale);
	return good;
}

static void write_text(FILE *file, struct text text)
{
	fputc('"', file);
	for (size_t i = 0; i < text.size; i++)
		if ((unsigned char)text.data[i] < ' ')
			fprintf(file, "\\u%04x", (unsigned)text.data[i]);
		else
			fprintf(file, "%s%c", strchr("\"\\", text.data[i]) ? "\\" : "",
				text.data[i]);
	fputc('"', file);
}

static void write_list(FILE *file, const struct value *list)
{
	fputc('[', file);
	for (uint32_t i = 0; i < value_count(list); i++) {
		fputs(i ? ", " : "", file);
		jsontext_write(file, value_item(list, i));
	}
	fputc(']', file);
}

static void write_map(FILE *file, const struct value *map)
{
	fputc('{', file);
	for (uint32_t i = 0; i < value_count(map); i++) {
		fputs(i ? ", " : "", file);
		write_text(file, value_key(map, i));
		fputs(": ", file);
		jsontext_write(file, value_at(map, i));
	}
	fputc('}', file);
}

/* In the C locale's form, with the digits that tell it from its neighbours. */
static void write_float(FILE *file, double number)
{
	char text[40];
	snprintf(text, sizeof(text), "%.17g", number);
	for (char *at = text; *at; at++)
		*at = *at == ',' ? '.' : *at;
	fprintf(file, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

void jsontext_write(FILE *file, const struct value *value)
{
	switch (value_kind(value)) {
	case VALUE_NIL:
		fputs("null", file);
		break;
	case VALUE_BOOLEAN:
		fputs(value_boolean(value) ? "true" : "false", file);
		break;
	case VALUE_UINT:
		fprintf(file, "%" PRIu64, value_uint(value));
		break;
	case VALUE_INT:
		fprintf(file, "%" PRId64, value_sint(value));
		break;
	case VALUE_FLOAT:
		write_float(file, value_float(value));
		break;
	case VALUE_TEXT:
		write_text(file, value_text(value));
		break;
	case VALUE_LIST:
		write_list(file, value);
		break;
	case VALUE_MAP:
		write_map(file, value);
		break;
	}
}
