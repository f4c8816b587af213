/* SPDX-License-Identifier: MIT */
/* Pictures made by the encoders themselves, in forms that few tools write. For tests alone. */
#ifndef STOKER_TESTS_PICTURES_H
#define STOKER_TESTS_PICTURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/image.h"

struct picture {
	uint8_t *data; /* free() */
	size_t size;
};

enum jpeg_way {
	JPEG_BASELINE,
	JPEG_PROGRESSIVE,
	JPEG_SEPARATE,	 /* sequential, a scan for each component */
	JPEG_RESTARTS,	 /* baseline with a restart marker after every second MCU */
	JPEG_ARITHMETIC, /* sequential */
	JPEG_WAYS,
};

struct jpeg_recipe {
	int width, height;
	int components; /* 1 grey, 3 YCbCr, 4 YCCK, -3 RGB, -4 CMYK */
	int h, v; /* sampling factors of the first (and fourth) component; the others' are 1 */
	enum jpeg_way way;
};

/* Pixels that change from place to place, with noise: `channels` bytes a pixel. */
uint8_t *pixels_make(int width, int height, int channels);

struct picture picture_jpeg(const struct jpeg_recipe *recipe);
struct picture picture_png(int width, int height, int color_type, int depth, bool interlaced);
struct picture picture_webp(int width, int height, bool lossless);

/* A JPEG decoded whole, by libjpeg alone, with nothing clever; RGB. free() */
uint8_t *jpeg_plain(const struct picture *picture);

/* The place behind the first marker of this kind (0xC0, ...); the test fails if there is none. */
size_t jpeg_find(const struct picture *picture, uint8_t marker);
/* Make a JPEG's frame claim another size. */
void jpeg_claim(struct picture *picture, unsigned width, unsigned height);

/* The same numbers in each run, below `bound`; and a part of a picture, of a pixel at least. */
int32_t random_below(int32_t bound);
struct rect random_rect(int32_t width, int32_t height);

#endif
