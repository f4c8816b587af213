/* SPDX-License-Identifier: MIT */
/*
 * The orientation of a picture from its metadata, as Pillow's exif_transpose() takes it: that of
 * EXIF, or if EXIF has none, that of XMP. Nothing else of them is read. The bytes are hostile.
 * Pure: no allocation; any thread.
 */
#ifndef STOKER_DECODE_EXIF_H
#define STOKER_DECODE_EXIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Metadata blocks of a file; NULL and 0 if there are none. */
struct metadata {
	const uint8_t *exif; /* a TIFF structure, with or without "Exif\0\0" before it */
	size_t exif_size;
	const uint8_t *xmp; /* a text */
	size_t xmp_size;
};

/* 1 to 8; 1 if there is no valid orientation. */
unsigned metadata_orientation(const struct metadata *metadata);
/* Has EXIF an orientation, valid or not? That of XMP then does not count. */
bool metadata_has_exif_orientation(const struct metadata *metadata);

#endif
