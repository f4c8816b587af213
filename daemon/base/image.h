/* SPDX-License-Identifier: MIT */
/*
 * An image in memory: RGB, 3 bytes a pixel, rows packed. What a decoder gives and transforms take.
 * Or a *wide* one: uint16 or float32 of any number of channels, which geometry takes. A generator
 * takes those of float32 with 1, 3 or 4 channels.
 * The memory is borrowed; whoever returns an image says how long it lives. Any thread.
 */
#ifndef STOKER_BASE_IMAGE_H
#define STOKER_BASE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most pixels of one picture, decoded or intermediate; where Pillow gives an error, too. */
#define IMAGE_PIXELS_MAX 178956970u

struct image_size {
	int32_t width, height;
};

struct rect {
	int32_t x, y, width, height;
};

/* The samples of a picture. */
enum image_type {
	IMAGE_BYTES,   /* RGB */
	IMAGE_UINT16,  /* wide ... */
	IMAGE_FLOAT32, /* ... as well */
};

/* Form of the pixels of a wide picture; all 0: RGB bytes. */
struct image_form {
	enum image_type type;
	uint32_t channels; /* of a wide one, up to IMAGE_CHANNELS_MAX; 0: not known yet */
};

#define IMAGE_CHANNELS_MAX 64

static inline size_t image_pixel_bytes(struct image_form form)
{
	return form.type == IMAGE_BYTES ? 3 : (form.type == IMAGE_UINT16 ? 2u : 4u) * form.channels;
}

/*
 * The part `area` of a picture of `width` x `height`: `pixels` points at the pixel (area.x,
 * area.y), rows are `stride` bytes apart. BUFFER_SLACK bytes after the last row are readable; their
 * values mean nothing.
 */
struct image {
	const uint8_t *pixels;
	size_t stride;
	int32_t width, height;
	struct rect area;
	struct image_form form;
	bool cold; /* it was made long ago: no cache of the processor has it */
};

#endif
