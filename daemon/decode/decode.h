/* SPDX-License-Identifier: MIT */
/*
 * From the bytes of a file to RGB pixels: JPEG, PNG and WebP, told apart by content, never by name.
 *
 * A decoder owns the libraries' objects and all scratch memory of one worker; it serves one thread
 * at a time and is reused from image to image without allocating. It knows no file, no transform
 * and no slot. The pixels are what Pillow's Image.open(...).convert("RGB") gives, bit for bit.
 * The bytes are hostile: every gate stands before the allocation or the work that it guards.
 *
 * Conditions: DECODE_E_FORMAT no image that we know; DECODE_E_CORRUPT damaged or cut short;
 * DECODE_E_LIMIT above a limit (the words say which); DECODE_E_UNSUPPORTED a known format in a
 * form that is refused by name (12-bit or lossless JPEG, an animation's later frames, ...).
 */
#ifndef STOKER_DECODE_DECODE_H
#define STOKER_DECODE_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/image.h"
#include "base/stamp.h"

enum {
	DECODE_E_FORMAT = 1,
	DECODE_E_CORRUPT,
	DECODE_E_LIMIT,
	DECODE_E_UNSUPPORTED,
};

struct decode_limits {
	uint64_t max_pixels;		/* width * height; default 178,956,970, as Pillow's error */
	uint64_t max_coefficient_bytes; /* multi-scan JPEG: held whole; default 512 MiB */
	unsigned max_scans;		/* of a JPEG; default 100 */
	unsigned deadline_ms;		/* CPU time of one image; default 10,000; 0 is none */
};

#define DECODE_LIMITS_DEFAULT                                                                      \
	((struct decode_limits){IMAGE_PIXELS_MAX, (uint64_t)512 << 20, 100, 10000})

struct decoder;
struct seek_index_set;

int decoder_new(struct decoder **out); /* 0 or -ENOMEM */
void decoder_free(struct decoder *decoder);

/*
 * Whether what decoder_set_origin() turns on works with the libjpeg that is there: 0,
 * DECODE_E_UNSUPPORTED with words, or -ENOMEM. Takes a millisecond.
 */
int decoder_self_test(struct fault *fault);

/*
 * Read the header. `data` is borrowed until decoder_end() or the next decoder_begin(). With `exif`
 * the picture is turned as its EXIF orientation says, and all coordinates are those of the turned
 * picture. 0, a condition or -ENOMEM.
 */
int decoder_begin(struct decoder *decoder, const uint8_t *data, size_t size,
		  const struct decode_limits *limits, bool exif, int32_t *width_out,
		  int32_t *height_out, struct fault *fault);

/* Where an image is from. */
struct decode_origin {
	struct seek_index_set
		*seek_indexes; /* of its dataset, see scans.h; NULL: nothing is remembered */
	uint64_t sample;
	struct stamp stamp; /* of the file when it was read */
};
#define DECODE_ORIGIN_NULL ((struct decode_origin){0})

/* After decoder_begin(): what is learnt of the image begun may be kept for its next visit, and what
 * is known of it used. The pixels do not depend on it. */
void decoder_set_origin(struct decoder *decoder, const struct decode_origin *origin);

/* Instead of decoder_read(): all that may be kept, and no pixels. False if of this format nothing
 * is. */
bool decoder_visit(struct decoder *decoder);

/* Whether the image begun can be decoded smaller at little cost: JPEGs can. */
bool decoder_shrinks(const struct decoder *decoder);

/* After decoder_begin(): decode the image begun, if it shrinks, at 1/scale of its size, edges
 * rounded up; 1, 2, 4 or 8. All coordinates are then those of the smaller picture. The pixels are
 * libjpeg's scaled ones, which Pillow's draft() gives. May be called again. */
void decoder_set_scale(struct decoder *decoder, unsigned scale);

/* After decoder_begin(): of an image with a palette, decoder_read() shall give the numbers of its
 * colours, as shades of grey: so masks are kept. */
void decoder_set_numbers(struct decoder *decoder);

/*
 * Decode at least the part `need` (inside the picture, not empty) of the image begun. `out` borrows
 * the decoder's memory until decoder_end() or the next decoder_begin(). 0, a condition or -ENOMEM.
 */
int decoder_read(struct decoder *decoder, struct rect need, struct image *out, struct fault *fault);

/* Nobody needs the image begun, if there is one, any more: what a large one took is given back. */
void decoder_end(struct decoder *decoder);

#endif
