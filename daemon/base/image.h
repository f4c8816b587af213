/* SPDX-License-Identifier: MIT */
/*
 * Pixels on their way from the decoder to the slot: always RGB, 3 bytes a pixel, packed in rows.
 * Borrowed memory; whoever made the image says how long it lives.
 */
#ifndef STOKER_BASE_IMAGE_H
#define STOKER_BASE_IMAGE_H

#include <stddef.h>
#include <stdint.h>

/* Of one picture, as Pillow has it: no more are decoded, or made in between. */
#define IMAGE_PIXELS_MAX 178956970u

struct rect {
	int32_t x, y, width, height;
};

/*
 * A part of a picture that is `width` x `height` as a whole: `pixels` points at the pixel
 * (area.x, area.y), rows are `stride` bytes apart, and only `area` may be read. BUFFER_SLACK bytes
 * behind the last row are readable (their value means nothing).
 */
struct image {
	const uint8_t *pixels;
	size_t stride;
	int32_t width, height;
	struct rect area;
};

#endif
