/* SPDX-License-Identifier: MIT */
/*
 * The orientation of a PNG, from where Pillow finds it: EXIF in eXIf, in a text "exif", or in the
 * text "Raw profile type exif" that ImageMagick writes; XMP in the text "XML:com.adobe.xmp". Each
 * may lie before or behind the pixels; of two of a kind the last one counts. The bytes are hostile.
 * A worker's thread.
 */
#ifndef STOKER_DECODE_PNG_ORIENTATION_H
#define STOKER_DECODE_PNG_ORIENTATION_H

#include "base/fault.h"

struct arena;
struct png_file;

/* 1 to 8; 1 if there is no valid one. Scratch memory, at most some MiB, is of the arena. 0 or
 * -ENOMEM. */
int png_orientation(const struct png_file *file, struct arena *arena, unsigned *out,
		    struct fault *fault);

#endif
