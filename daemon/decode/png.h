/* SPDX-License-Identifier: MIT */
/*
 * PNG: the door to libspng. Every colour type, depth and interlacing, as Pillow turns them into
 * RGB; of an animated PNG the default image. Keeps nothing between calls but the row it works on;
 * the arena, which is reset with each call, holds what the library takes; stops after the last row
 * that is needed.
 */
#ifndef STOKER_DECODE_PNG_H
#define STOKER_DECODE_PNG_H

#include "decode/codec.h"

struct arena;

bool png_accepts(const uint8_t *data, size_t size);

/* Read the header. 0, a condition of decode.h or -ENOMEM. */
int png_begin(const struct codec_input *input, struct arena *arena, bool exif,
	      struct codec_header *out, struct fault *fault);

/* Decode `need` into `pixels`; `row` is scratch. */
int png_read(const struct codec_input *input, struct arena *arena, struct rect need,
	     struct buffer *row, struct buffer *pixels, struct image *out, struct fault *fault);

#endif
