// SPDX-License-Identifier: MIT
#include "dataset/shards/tar_header.h"

#include <string.h>

/* Fields of a header: where they begin and how many bytes they have. */
enum {
	NAME_AT = 0,
	NAME_SIZE = 100,
	SIZE_AT = 124,
	SIZE_SIZE = 12,
	SUM_AT = 148,
	SUM_SIZE = 8,
	TYPE_AT = 156,
	MAGIC_AT = 257,
	PREFIX_AT = 345,
	PREFIX_SIZE = 155,
};

static size_t text_size(const uint8_t *field, size_t room)
{
	const uint8_t *end = memchr(field, '\0', room);
	return end ? (size_t)(end - field) : room;
}

/* A number: octal digits between blanks and NULs, or, GNU's way, 0x80 and big-endian bytes.
 * False if it is neither, is negative or does not fit. */
static bool tar_number(const uint8_t *field, size_t room, uint64_t *out)
{
	uint64_t number = 0;
	size_t at = 0;
	if (field[0] & 0x80) {
		for (at = 1; at < room; at++) {
			if (number >> 55)
				return false;
			number = number << 8 | field[at];
		}
		*out = number;
		return field[0] == 0x80;
	}
	while (at < room && (field[at] == ' ' || field[at] == '\0'))
		at++;
	for (; at < room && field[at] >= '0' && field[at] <= '7'; at++) {
		if (number >> 60)
			return false;
		number = number << 3 | (uint64_t)(field[at] - '0');
	}
	for (; at < room; at++) {
		if (field[at] != ' ' && field[at] != '\0')
			return false;
	}
	*out = number;
	return true;
}

/* Some programs add the bytes up as signed ones. */
static bool tar_sum_fits(const uint8_t *block)
{
	uint64_t said;
	int64_t plain = 0, with_sign = 0;
	if (!tar_number(block + SUM_AT, SUM_SIZE, &said) || said > INT32_MAX)
		return false;
	for (int i = 0; i < TAR_BLOCK; i++) {
		uint8_t byte = i >= SUM_AT && i < SUM_AT + SUM_SIZE ? ' ' : block[i];
		plain += byte;
		with_sign += (int8_t)byte;
	}
	return (int64_t)said == plain || (int64_t)said == with_sign;
}

static bool tar_is_zero(const uint8_t *block)
{
	return block[0] == 0 && memcmp(block, block + 1, TAR_BLOCK - 1) == 0;
}

static enum tar_kind tar_kind_of(const struct tar_header *header, uint8_t type)
{
	switch (type) {
	case '\0': /* V7 marks a folder by a slash */
		return header->name_size && header->name[header->name_size - 1] == '/' ? TAR_EMPTY
										       : TAR_FILE;
	case '0':
	case '7':
		return TAR_FILE;
	case '1':
	case '2':
	case '3':
	case '4':
	case '5':
	case '6':
		return TAR_EMPTY;
	case 'S':
		return TAR_SPARSE;
	case 'L':
		return TAR_LONG_NAME;
	case 'K':
		return TAR_LONG_LINK;
	case 'x':
	case 'X': /* Solaris */
		return TAR_PAX;
	case 'g':
		return TAR_PAX_ALL;
	default:
		return TAR_UNKNOWN;
	}
}

int tar_header_parse(struct tar_header *out, const uint8_t *block, struct fault *fault)
{
	struct tar_header header = {.kind = TAR_END};
	if (tar_is_zero(block)) {
		*out = header;
		return 0;
	}
	if (!tar_sum_fits(block))
		return fault_say(fault, TAR_E_BAD,
				 "there is no tar header (its checksum is wrong): copy or write "
				 "the shard again");
	/* GNU's magic is "ustar  ", and the prefix's bytes are something else there. */
	size_t prefix = memcmp(block + MAGIC_AT, "ustar", 6) == 0
				? text_size(block + PREFIX_AT, PREFIX_SIZE)
				: 0;
	size_t name = text_size(block + NAME_AT, NAME_SIZE);
	if (prefix) {
		memcpy(header.name, block + PREFIX_AT, prefix);
		header.name[prefix++] = '/';
	}
	memcpy(header.name + prefix, block + NAME_AT, name);
	header.name_size = prefix + name;
	header.kind = tar_kind_of(&header, block[TYPE_AT]);
	if (!tar_number(block + SIZE_AT, SIZE_SIZE, &header.size))
		return fault_say(fault, TAR_E_BAD,
				 "the size in a tar header is no number: write the shard again");
	if (header.kind == TAR_EMPTY)
		header.size = 0;
	*out = header;
	return 0;
}

/* -- pax -------------------------------------------------------------------------------------- */

/* Decimal digits only. */
static bool pax_number(const uint8_t *text, size_t size, uint64_t *out)
{
	uint64_t number = 0;
	if (size == 0)
		return false;
	for (size_t i = 0; i < size; i++) {
		if (text[i] < '0' || text[i] > '9' || number > UINT64_MAX / 10 - 1)
			return false;
		number = number * 10 + (uint64_t)(text[i] - '0');
	}
	*out = number;
	return true;
}

static bool pax_key_is(const uint8_t *key, size_t size, const char *name)
{
	return size == strlen(name) && memcmp(key, name, size) == 0;
}

/* One record, without its length and the line end: KEY=VALUE. */
static int pax_take(struct tar_pax *pax, const uint8_t *record, size_t size, struct fault *fault)
{
	const uint8_t *equals = memchr(record, '=', size);
	if (!equals)
		return fault_say(fault, TAR_E_BAD, "a record of a pax header has no '='");
	size_t key = (size_t)(equals - record), value_size = size - key - 1;
	const uint8_t *value = equals + 1;
	if (pax_key_is(record, key, "path")) {
		pax->name = (const char *)value;
		pax->name_size = value_size;
	} else if (pax_key_is(record, key, "size")) {
		pax->has_size = pax_number(value, value_size, &pax->size);
		if (!pax->has_size)
			return fault_say(
				fault, TAR_E_BAD,
				"the size in a pax header is no number: write the shard again");
	} else if (key > 11 && memcmp(record, "GNU.sparse.", 11) == 0) {
		pax->sparse = true;
	}
	return 0;
}

int tar_pax_parse(struct tar_pax *pax, const uint8_t *data, size_t size, struct fault *fault)
{
	/* "LENGTH KEY=VALUE\n"; the length is that of the whole record. */
	for (size_t at = 0; at < size;) {
		uint64_t length;
		const uint8_t *blank = memchr(data + at, ' ', size - at);
		size_t digits = blank ? (size_t)(blank - data) - at : 0;
		if (!pax_number(data + at, digits, &length) || length > size - at ||
		    length < digits + 2 || data[at + length - 1] != '\n')
			return fault_say(fault, TAR_E_BAD,
					 "a pax header is damaged: write the shard again");
		int result = pax_take(pax, blank + 1, (size_t)length - digits - 2, fault);
		if (result)
			return result;
		at += (size_t)length;
	}
	return 0;
}
