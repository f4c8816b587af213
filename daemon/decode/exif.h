/* SPDX-License-Identifier: MIT */
/*
 * The one thing that we read from EXIF: how to turn the picture. A small reader of hostile bytes;
 * no allocation, any thread.
 */
#ifndef STOKER_DECODE_EXIF_H
#define STOKER_DECODE_EXIF_H

#include <stddef.h>
#include <stdint.h>

/* `data`: a TIFF structure, or one behind "Exif\0\0". 1 to 8; 1 when there is none or it is odd. */
unsigned exif_orientation(const uint8_t *data, size_t size);

#endif
