// SPDX-License-Identifier: MIT
#include "decode/exif.h"

#include <ctype.h>
#include <string.h>

#define TAG_ORIENTATION 0x0112
#define ENTRY_BYTES 12

struct tiff {
	const uint8_t *data;
	size_t size;
	bool big_endian;
};

/* A field of 1 to 8 bytes; the caller has checked that it lies inside. */
static uint64_t tiff_wide(const struct tiff *tiff, size_t at, unsigned bytes)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < bytes; i++) {
		unsigned shift = 8 * (tiff->big_endian ? bytes - 1 - i : i);
		value |= (uint64_t)tiff->data[at + i] << shift;
	}
	return value;
}

/* One of 1 to 4 bytes. */
static uint32_t tiff_number(const struct tiff *tiff, size_t at, unsigned bytes)
{
	return (uint32_t)tiff_wide(tiff, at, bytes);
}

static bool tiff_holds(const struct tiff *tiff, uint64_t at, uint64_t bytes)
{
	return at <= tiff->size && bytes <= tiff->size - at;
}

/* Bytes of one value of a field type; 0 for a type that does not exist. */
static unsigned type_bytes(uint32_t type)
{
	static const uint8_t bytes[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8};
	return type < sizeof(bytes) ? bytes[type] : 0;
}

/* The types whose values are numbers to Pillow; to it BYTE and UNDEFINED are bytes. */
enum {
	TYPE_SHORT = 3,
	TYPE_LONG = 4,
	TYPE_RATIONAL = 5,
	TYPE_SBYTE = 6,
	TYPE_SSHORT = 8,
	TYPE_SLONG = 9,
	TYPE_SRATIONAL = 10,
	TYPE_FLOAT = 11,
	TYPE_DOUBLE = 12,
	TYPE_IFD = 13,
	TYPE_LONG8 = 16,
};

/* A value as a number; 0 if it is none. */
static double tiff_value(const struct tiff *tiff, size_t at, uint32_t type)
{
	uint32_t over, bits;
	uint64_t wide;
	float number;
	double real;
	switch (type) {
	case TYPE_RATIONAL:
		over = tiff_number(tiff, at + 4, 4);
		return over ? (double)tiff_number(tiff, at, 4) / over : 0;
	case TYPE_SRATIONAL:
		over = tiff_number(tiff, at + 4, 4);
		return over ? (double)(int32_t)tiff_number(tiff, at, 4) / (int32_t)over : 0;
	case TYPE_FLOAT:
		bits = tiff_number(tiff, at, 4);
		memcpy(&number, &bits, sizeof(number));
		return number;
	case TYPE_DOUBLE:
		wide = tiff_wide(tiff, at, 8);
		memcpy(&real, &wide, sizeof(real));
		return real;
	case TYPE_SHORT:
	case TYPE_LONG:
	case TYPE_SBYTE: /* a negative one is a large one here, and no orientation either */
	case TYPE_SSHORT:
	case TYPE_SLONG:
	case TYPE_IFD:
	case TYPE_LONG8:
		return (double)tiff_wide(tiff, at, type_bytes(type));
	default:
		return 0;
	}
}

/* Both byte orders of the number 42 are met in the wild; the first two letters decide. */
static bool tiff_open(struct tiff *tiff)
{
	if (tiff->size < 8)
		return false;
	const uint8_t *head = tiff->data;
	if (memcmp(head, "II", 2) != 0 && memcmp(head, "MM", 2) != 0)
		return false;
	tiff->big_endian = head[0] == 'M';
	return (head[2] == 0 && head[3] == 42) || (head[2] == 42 && head[3] == 0);
}

/* Walks the first directory as Pillow 13 does: an entry is passed over if the values so far claim
 * more bytes than there are, else one whose value lies outside ends the walk; the first of several
 * orientations counts. Whether there is one; *out may be any number. */
static bool exif_find(const uint8_t *data, size_t size, double *out)
{
	/* Twice, where a writer of PNG or WebP took the one of a JPEG along. */
	for (unsigned i = 0; i < 2 && size >= 6 && memcmp(data, "Exif\0\0", 6) == 0; i++) {
		data += 6;
		size -= 6;
	}
	struct tiff tiff = {data, size, false};
	if (!tiff_open(&tiff))
		return false;
	uint64_t at = tiff_number(&tiff, 4, 4);
	if (!tiff_holds(&tiff, at, 2))
		return false;
	uint32_t entries = tiff_number(&tiff, at, 2);
	bool found = false;
	uint64_t claimed = 0;
	at += 2;
	for (; entries > 0 && !found && tiff_holds(&tiff, at, ENTRY_BYTES);
	     entries--, at += ENTRY_BYTES) {
		uint32_t type = tiff_number(&tiff, at + 2, 2);
		unsigned bytes = type_bytes(type);
		uint64_t total = (uint64_t)tiff_number(&tiff, at + 4, 4) * bytes;
		uint64_t value = at + 8;
		if (total == 0)
			continue;
		if (total > 4) {
			value = tiff_number(&tiff, value, 4);
			claimed += total;
		}
		if (claimed > tiff.size && total > 4)
			continue;
		if (!tiff_holds(&tiff, value, total))
			break;
		if (tiff_number(&tiff, at, 2) != TAG_ORIENTATION)
			continue;
		*out = tiff_value(&tiff, value, type);
		found = true;
	}
	return found;
}

/* The first digit behind the name, as attribute or as element; 0: there is none. */
static uint32_t xmp_find(const uint8_t *data, size_t size)
{
	static const char name[] = "tiff:Orientation";
	const size_t length = sizeof(name) - 1;
	for (const uint8_t *at; size > 0 && (at = memmem(data, size, name, length)) != NULL;) {
		size -= (size_t)(at - data) + length;
		data = at + length;
		size_t mark = size >= 2 && memcmp(data, "=\"", 2) == 0 ? 2
			      : size >= 1 && data[0] == '>'	       ? 1
								       : 0;
		if (mark > 0 && size > mark && isdigit(data[mark]))
			return (uint32_t)(data[mark] - '0');
	}
	return 0;
}

unsigned metadata_orientation(const struct metadata *metadata)
{
	double found;
	if (!exif_find(metadata->exif, metadata->exif_size, &found))
		found = xmp_find(metadata->xmp, metadata->xmp_size);
	unsigned orientation = found >= 1 && found <= 8 ? (unsigned)found : 1;
	return orientation == found ? orientation : 1;
}

bool metadata_has_exif_orientation(const struct metadata *metadata)
{
	double unused;
	return exif_find(metadata->exif, metadata->exif_size, &unused);
}
