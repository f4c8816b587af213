/* SPDX-License-Identifier: MIT */
/*
 * What a transform does to the colours of a picture, once its numbers are drawn: the arithmetic of
 * Pillow's ImageEnhance, ImageOps and HSV conversion, byte for byte, and torchvision's Gaussian
 * blur. Places do not change. Knows no transform, no probability, no dtype. A worker's thread;
 * memory is the caller's.
 */
#ifndef STOKER_TRANSFORM_COLOUR_H
#define STOKER_TRANSFORM_COLOUR_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cpu.h"
#include "base/image.h"

#define COLOUR_KERNEL_MAX 255  /* pixels of a blur's kernel, odd */
#define COLOUR_WHOLE INT32_MAX /* as a reach: the whole picture is looked at */

/* With the amounts that each has. */
enum colour_kind {
	COLOUR_INVERT,	  /* none */
	COLOUR_GRAYSCALE, /* none */
	COLOUR_POSTERIZE, /* bits that stay, 0 to 8 */
	COLOUR_SOLARIZE,  /* the least value that is inverted */
	COLOUR_AUTOCONTRAST,
	COLOUR_EQUALIZE,
	COLOUR_BRIGHTNESS, /* factors: 0 is black, 1 changes nothing */
	COLOUR_CONTRAST,
	COLOUR_SATURATION,
	COLOUR_SHARPNESS,
	COLOUR_HUE,  /* of a turn, -0.5 to 0.5 */
	COLOUR_BLUR, /* the kernel's width and height, odd; sigma */
};

struct colour {
	enum colour_kind kind;
	double amount[3];
};

/* How many pixels around one its new value depends on: 0, some, or COLOUR_WHOLE. */
int32_t colour_reach(const struct colour *colour);

/*
 * Write the part `wanted` of the changed picture to `out`, rows `stride` bytes apart. `image` has
 * in its area `wanted` and colour_reach() pixels around it, as far as the picture has them. A
 * blur's kernel reaches less than the picture's own size beyond its edges. Where the reach is 0 or
 * COLOUR_WHOLE `out` may be where `wanted` stands in `image`. The bytes do not depend on `cpu`.
 * 0 or -ENOMEM.
 */
int colour_run(const struct colour *colour, const struct image *image, struct rect wanted,
	       uint8_t *out, size_t stride, enum cpu cpu, struct buffer *scratch);

#endif
