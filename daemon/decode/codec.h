/* SPDX-License-Identifier: MIT */
/*
 * What the formats (jpeg.c, png.c, webp.c) have in common: the bytes of one image with its limits,
 * and what its header says. Coordinates here are those of the stored picture: turning it is
 * decode.c's. Plain memory of the caller; a worker's thread.
 */
#ifndef STOKER_DECODE_CODEC_H
#define STOKER_DECODE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/fault.h"
#include "base/image.h"
#include "decode/decode.h"

struct codec_input {
	const uint8_t *data; /* borrowed */
	size_t size;
	struct decode_limits limits;
	uint64_t start_ns; /* of this thread's CPU time */
	bool numbers;	   /* of a palette its numbers, not its colours */
};

struct codec_header {
	int32_t width, height;
	unsigned orientation; /* 1 to 8 as in EXIF; 1 when there is none or it was not asked for */
};

/* The gate before any allocation by size: 0, DECODE_E_LIMIT, or DECODE_E_CORRUPT when empty. */
int codec_check_size(const struct codec_input *input, uint64_t width, uint64_t height,
		     struct fault *fault);

/* 0, or DECODE_E_LIMIT when the image has used up its CPU time. A system call: not per pixel. */
int codec_check_time(const struct codec_input *input, struct fault *fault);

/* Room for the pixels of `area` and the image that shows them: 0 or -ENOMEM. */
int codec_room(const struct codec_header *header, struct rect area, struct buffer *pixels,
	       struct image *out);

/* A number for people: 4,290,250,000. */
struct codec_number {
	char text[32];
};
struct codec_number codec_number(uint64_t number);

#endif
