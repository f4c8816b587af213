/* SPDX-License-Identifier: MIT */
/*
 * The orientation of a picture from its EXIF data; nothing else of EXIF is read. The bytes are
 * hostile. Pure: no allocation; any thread.
 */
#ifndef STOKER_DECODE_EXIF_H
#define STOKER_DECODE_EXIF_H

#include <stddef.h>
#include <stdint.h>

/* `data`: a TIFF structure, with or without "Exif\0\0" before it. 1 to 8; 1 if there is no valid
 * orientation. */
unsigned exif_orientation(const uint8_t *data, size_t size);

#endif
