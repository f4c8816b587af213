/* SPDX-License-Identifier: MIT */
/* Pictures for tests, encoded by the libraries in forms that few tools write. */
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

/* A gradient with noise: `channels` bytes a pixel. free() */
uint8_t *pixels_make(int width, int height, int channels);

struct picture picture_jpeg(const struct jpeg_recipe *recipe);
struct picture picture_png(int width, int height, int color_type, int depth, bool interlaced);
struct picture picture_webp(int width, int height, bool lossless);
struct picture picture_bytes(const char *text); /* a file as it is */

/* A JPEG decoded whole by libjpeg alone, to RGB. free() */
uint8_t *jpeg_plain(const struct picture *picture);

/* The offset after the first marker of this kind (0xC0, ...); the test fails if there is none. */
size_t jpeg_find(const struct picture *picture, uint8_t marker);
/* Change the size in a JPEG's frame header. */
void jpeg_claim(struct picture *picture, unsigned width, unsigned height);

/* Random numbers below `bound`, the same in each run; and a part of a picture, not empty. */
int32_t random_below(int32_t bound);
struct rect random_rect(int32_t width, int32_t height);

#endif
