/* SPDX-License-Identifier: MIT */
/*
 * The samples of a TIFF's pixels: how many, of how many bits, and what they are. Accepts the forms
 * that Pillow reads as pictures of 8 bits or as integers of 16, and wide ones. Pure; knows no
 * pixels.
 */
#ifndef STOKER_DECODE_TIFF_FORM_H
#define STOKER_DECODE_TIFF_FORM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "decode/codec.h"
#include "decode/tiff_file.h"

enum tiff_colours {
	TIFF_GREY,
	TIFF_RGB,
	TIFF_PALETTE,
	TIFF_CMYK,
	TIFF_YCBCR, /* libtiff makes RGBA of it, since it may be subsampled */
	TIFF_WIDE,  /* samples of any meaning, as they are stored */
};

struct tiff_form {
	uint16_t bits;	  /* of a sample: 1, 2, 4, 8, 12 or 16; wide: 12, 16, 32 or 64 */
	uint16_t samples; /* of a pixel, 1 to 6: colours first, then alpha if there is one */
	uint16_t format;  /* of wide ones, libtiff's SAMPLEFORMAT */
	enum tiff_colours colours;
	bool inverted;	/* 0 is white */
	bool is_signed; /* grey of 16 bits: below 0 is black */
	bool alpha, premultiplied;
	bool separate; /* each sample has a plane of its own */
	uint16_t *palette[3];
};

/* Read the form of the open page. 0, or DECODE_E_UNSUPPORTED: the fault says what the page has. */
int tiff_form_read(struct tiff_form *out, const struct tiff_file *source, TIFF *file,
		   struct fault *fault);

/* Read the form of a page whose pixels are wanted wide; returns as tiff_form_read(). */
int tiff_form_read_wide(struct tiff_form *out, const struct codec_input *input, TIFF *file,
			struct fault *fault);

#endif
