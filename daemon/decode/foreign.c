// SPDX-License-Identifier: MIT
#include "decode/foreign.h"

#include <string.h>

#define BRAND 4	       /* bytes of a brand, and of a box's length and type */
#define BRANDS_MAX 256 /* bytes of a box that are looked at */

struct mark {
	const char *bytes;
	size_t size;
	const char *name;
};

static const struct mark starts[] = {
	{"II*\0", 4, "TIFF"},
	{"MM\0*", 4, "TIFF"},
	{"II+\0", 4, "TIFF"},
	{"MM\0+", 4, "TIFF"},
	{"\xff\x0a", 2, "JPEG XL"},
	{"\0\0\0\x0cJXL ", 8, "JPEG XL"},
	{"\xff\x4f\xff\x51", 4, "JPEG 2000"},
	{"\0\0\0\x0cjP  ", 8, "JPEG 2000"},
	{"<svg", 4, "SVG"},
};

/* Brands of the ISO base media file format. A file may have several: what follows HEIF tells more.
 */
static const struct mark brands[] = {
	{"avif", BRAND, "AVIF"}, {"avis", BRAND, "AVIF"}, {"heic", BRAND, "HEIC"},
	{"heix", BRAND, "HEIC"}, {"heim", BRAND, "HEIC"}, {"heis", BRAND, "HEIC"},
	{"hevc", BRAND, "HEIC"}, {"hevx", BRAND, "HEIC"}, {"hevm", BRAND, "HEIC"},
	{"hevs", BRAND, "HEIC"}, {"mif1", BRAND, "HEIF"}, {"mif2", BRAND, "HEIF"},
	{"msf1", BRAND, "HEIF"},
};
#define BRANDS (sizeof(brands) / sizeof(*brands))

/* The first brand of the table that stands among those of the first box. */
static const char *name_by_brands(const uint8_t *data, size_t size)
{
	if (size < 3 * BRAND || memcmp(data + BRAND, "ftyp", BRAND) != 0)
		return NULL;
	size_t end = (size_t)data[2] << 8 | data[3];
	if (data[0] || data[1] || end > BRANDS_MAX)
		end = BRANDS_MAX;
	if (end > size)
		end = size;
	for (size_t i = 0; i < BRANDS; i++)
		for (size_t at = 2 * BRAND; at + BRAND <= end; at += BRAND)
			if (at != 3 * BRAND && memcmp(data + at, brands[i].bytes, BRAND) == 0)
				return brands[i].name;
	return NULL;
}

const char *foreign_name(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (size >= starts[i].size && memcmp(data, starts[i].bytes, starts[i].size) == 0)
			return starts[i].name;
	return name_by_brands(data, size);
}
