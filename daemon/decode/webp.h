/* SPDX-License-Identifier: MIT */
/*
 * WebP: the door to libwebp. Lossy and lossless, alpha dropped; of an animation the first frame on
 * a black canvas, as Pillow shows it. Keeps nothing between calls.
 */
#ifndef STOKER_DECODE_WEBP_H
#define STOKER_DECODE_WEBP_H

#include "decode/codec.h"

bool webp_accepts(const uint8_t *data, size_t size);

/* Read the header. 0, a condition of decode.h or -ENOMEM. */
int webp_begin(const struct codec_input *input, bool exif, struct codec_header *out,
	       struct fault *fault);

/* Decode `need` into `pixels`. */
int webp_read(const struct codec_input *input, struct rect need, struct buffer *pixels,
	      struct image *out, struct fault *fault);

#endif
