/* SPDX-License-Identifier: MIT */
/*
 * Image codecs: the contract of the family, and its table. A codec turns a part of one stored image
 * into RGB pixels, through one library. It knows no file, no dataset and no transform. It reports
 * the EXIF orientation and does not apply it: all coordinates here are those of the stored image.
 *
 * Calls: for each image decode.c takes the first row of the table whose accepts() is true. It calls
 * begin() once, then index(), rewrite() or read() any number of times, then end(). After a begin()
 * that failed end() is not called. One decoder is used by one thread at a time, but several
 * decoders run at the same time: a codec has no state that they share.
 *
 * Memory: `input` and its bytes are borrowed from begin() to end(). What the codec needs for one
 * image comes from `input->arena`, which it may reset in begin() and read(), and which decode.c
 * resets after end(); what it keeps from image to image is its `state`, one for each decoder. Once
 * a worker has seen images of the kind, decoding allocates nothing.
 *
 * The bytes are hostile. begin() calls limits_check_size() before any allocation by size, read()
 * calls limits_check_time() every few milliseconds, as far as the library lets it. Unless the input
 * is known to be `sound`, read() and index() look for damage in all of the file and fail if Pillow
 * could not load it, whichever part is asked for.
 *
 * Errors: 0, a condition of decode.h with words in `fault`, or -ENOMEM. Outputs are written only on
 * success.
 *
 * Pixels that are no file (kept, in an array, supplied by a process) have rows as well, which the
 * owner of the pixels defines and gives to decoder_begin_pixels(). Such a row has no accepts() and
 * stands in no table, so the content of a file never selects it. It has begin(), read() and maybe
 * end(); its `state` is the owner's; its picture is not turned. Its read() may lend the owner's
 * memory instead of copying to `pixels`, and returns DECODE_E_GONE where it cannot have the part.
 *
 * How to add one for a file format: write decode/NAME.c with its `const struct codec codec_NAME`
 * (webp.c is the shortest) and NAME.h, add a row to the table in codecs.c, the file to
 * daemon/meson.build and the library's header to tests/style/libraries.py. An image is found by its
 * content; that a folder lists it at all is decided by its name, in dataset/folders/folder.c.
 * Tests: tests/unit/decode/test_codec.c checks that the row is complete; test_decode.c and
 * test_decode_pillow.py compare pixels, test_decode_gates.c feeds damaged files,
 * tests/fuzz/corpus/decode wants a small file.
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

#define CODEC_KEEP ((size_t)64 << 20) /* scratch memory above this is freed after the image */

struct arena;

/* One image and how it is to be decoded. */
struct codec_input {
	const uint8_t *data;
	size_t size;
	struct decode_limits limits;
	uint64_t start_ns; /* CPU time of the thread when the call began */
	struct arena *arena;
	bool exif;  /* report the EXIF orientation */
	bool sound; /* the whole file is known to decode without an error */

	/* set between begin() and read() */
	struct decode_origin origin;
	unsigned scale; /* read at 1/scale of the size; 1 unless the header says `scales` */
	bool mask;	/* read numbers, as decoder_set_mask() says */
	bool alpha;	/* of a header with alpha: read that, as grey, not the colours */
	struct image_form
		form; /* wide pixels are asked for, from begin() on; of so many channels */
};

struct codec_header {
	int32_t width, height;
	unsigned orientation; /* 1 to 8, as in EXIF; 1 when there is none or it was not asked for */
	bool alpha;	      /* Pillow's convert("RGBA") may find pixels that are not opaque */
	bool inks;	      /* CMYK, which cannot be a mask */
	bool clips;	      /* grey of 16 bits, of which what is above 255 is read as 255 */
	bool ids;	      /* colours of 8 bits without loss, as COCO's panoptic ids */
	bool scales;	      /* read() can decode at 1/2, 1/4 and 1/8 of the size */
	struct image_form form; /* if wide pixels were asked for: what read() gives */
};

struct codec {
	const char *name; /* for messages: "JPEG" */
	bool wide;	  /* some of its files have samples of 16 bits or floats, see codec_put() */

	/* Whether the bytes begin as images of this format do. NULL: a row for pixels that are no
	 * file, see below. */
	bool (*accepts)(const uint8_t *data, size_t size);
	/* Read the header. */
	int (*begin)(void *state, const struct codec_input *input, struct codec_header *out,
		     struct fault *fault);
	/* Decode at least `need`, in coordinates of the scaled image, into `pixels`; `out` borrows
	 * them. */
	int (*read)(void *state, const struct codec_input *input, struct rect need,
		    struct buffer *pixels, struct image *out, struct fault *fault);

	/* Of a codec with state; the others have none of the three. */
	int (*state_new)(void **out); /* 0 or -ENOMEM */
	void (*end)(void *state);     /* forget the image; free scratch memory above CODEC_KEEP */
	void (*state_free)(void *state);

	/* Of a format with a seek index, else NULL: complete the index, decode no pixels. */
	int (*index)(void *state, struct fault *fault);

	/* Of a format with files that have none but can be rewritten as one that has, else NULL:
	 * whether the image begun is such a file, and the new one, of the same pixels. */
	bool (*can_rewrite)(const void *state);
	int (*rewrite)(void *state, struct buffer *out, struct fault *fault);
};

extern const struct codec *const codecs[]; /* the table; NULL ends it */

/* The header of the image at 1/scale of its size, edges rounded up. */
struct codec_header codec_scale(const struct codec_header *header, unsigned scale);

/* Put a pixel of a mask that is no number that fits: a colour, which no number looks like, says so.
 */
static inline void codec_put_none(uint8_t *pixel)
{
	pixel[0] = pixel[2] = 255;
	pixel[1] = 0;
}

/* Put a number of 16 bits of a mask: below 256 as grey, else as a colour that is none of
 * codec_put_none()'s, of which codec_number() gives the number again. */
static inline void codec_put_number(uint8_t *pixel, uint16_t number)
{
	pixel[0] = (uint8_t)number;
	pixel[1] = number > 255 ? (uint8_t)(number >> 8) : pixel[0];
	pixel[2] = number > 255 ? (uint8_t)~pixel[0] : pixel[0];
}

/* The message of begin() for a file that has no samples of the wide type asked for: `found` says
 * what it has. Returns DECODE_E_UNSUPPORTED. */
int codec_refuse_wide(const struct codec_input *input, const char *format, const char *found,
		      struct fault *fault);

/* Put sample `at` of a row of wide pixels. */
static inline void codec_put(enum image_type type, uint8_t *row, size_t at, float value)
{
	if (type == IMAGE_FLOAT32)
		((float *)(void *)row)[at] = value;
	else
		((uint16_t *)(void *)row)[at] = (uint16_t)value;
}

/* Reserve `pixels` for `area` and make `out` the image that shows them: 0 or -ENOMEM. */
int codec_reserve(const struct codec_header *header, struct rect area, struct buffer *pixels,
		  struct image *out);

#endif
