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

/* A field of 1, 2 or 4 bytes; the caller has checked that it lies inside. */
static uint32_t tiff_number(const struct tiff *tiff, size_t at, unsigned bytes)
{
	uint32_t value = 0;
	for (unsigned i = 0; i < bytes; i++) {
		unsigned shift = 8 * (tiff->big_endian ? bytes - 1 - i : i);
		value |= (uint32_t)tiff->data[at + i] << shift;
	}
	return value;
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

/* The types whose values are whole numbers to Pillow; BYTE and UNDEFINED are bytes to it. */
static bool type_is_number(uint32_t type)
{
	return type == 3 || type == 4 || type == 6 || type == 8 || type == 9 || type == 13;
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
static bool exif_find(const uint8_t *data, size_t size, uint32_t *out)
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
		*out = type_is_number(type) ? tiff_number(&tiff, value, bytes) : 1;
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
	uint32_t orientation;
	if (!exif_find(metadata->exif, metadata->exif_size, &orientation))
		orientation = xmp_find(metadata->xmp, metadata->xmp_size);
	return orientation >= 1 && orientation <= 8 ? orientation : 1;
}

bool metadata_has_exif_orientation(const struct metadata *metadata)
{
	uint32_t orientation;
	return exif_find(metadata->exif, metadata->exif_size, &orientation);
}
