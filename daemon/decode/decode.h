/* SPDX-License-Identifier: MIT */
/*
 * Image files to RGB pixels. The format (codec.h has the table) is found by content, never by name.
 *
 * A decoder owns the libraries' objects and all scratch memory of one worker. It serves one thread
 * at a time and decodes image after image without allocating. It knows no file, no transform and no
 * slot. The pixels are those of Pillow's Image.open(...).convert("RGB"), bit for bit. The bytes are
 * hostile: every limit is checked before the allocation or the work that it guards.
 *
 * Whether a file is damaged is decided for the whole of it, as Pillow decides it when it loads the
 * picture, whichever part is asked for. The first read of a file does that; that a file is sound is
 * kept with its origin, and later reads decode no more than they need.
 *
 * Conditions, with words in `fault`: DECODE_E_FORMAT no known image format; DECODE_E_CORRUPT
 * damaged or cut short; DECODE_E_LIMIT above a limit (the words say which); DECODE_E_UNSUPPORTED a
 * form of a known format that is not supported (12-bit or lossless JPEG, ...). Without words:
 * DECODE_E_GONE pixels that are no file cannot be read, or not at this scale.
 */
#ifndef STOKER_DECODE_DECODE_H
#define STOKER_DECODE_DECODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/fault.h"
#include "base/image.h"
#include "base/stamp.h"

enum {
	DECODE_E_FORMAT = 1,
	DECODE_E_CORRUPT,
	DECODE_E_LIMIT,
	DECODE_E_UNSUPPORTED,
	DECODE_E_GONE,
};

struct decode_limits {
	uint64_t max_pixels; /* width * height; default 178,956,970: where Pillow gives an error */
	uint64_t max_coefficient_bytes; /* multi-scan JPEG: held whole; default 512 MiB */
	unsigned max_scans;		/* of a JPEG; default 100 */
	unsigned deadline_ms;		/* CPU time of one image; default 10,000; 0: no limit */
	const atomic_bool *unwanted;	/* set: nobody wants it any more; NULL: somebody does */
};

#define DECODE_LIMITS_DEFAULT                                                                      \
	((struct decode_limits){IMAGE_PIXELS_MAX, (uint64_t)512 << 20, 100, 10000, NULL})

struct codec;
struct decoder;
struct seek_index_set;

int decoder_new(struct decoder **out); /* 0 or -ENOMEM */
void decoder_free(struct decoder *decoder);

/*
 * Check that decoding by the seek index gives the same pixels with the installed libjpeg: 0,
 * DECODE_E_UNSUPPORTED with words, or -ENOMEM. Takes a millisecond.
 */
int decoder_self_test(struct fault *fault);

/*
 * Read the header. `data` is borrowed until decoder_end() or the next decoder_begin(). With `exif`
 * the EXIF orientation is applied, and all coordinates are those of the oriented picture. 0, a
 * condition or -ENOMEM.
 */
int decoder_begin(struct decoder *decoder, const uint8_t *data, size_t size,
		  const struct decode_limits *limits, bool exif, int32_t *width_out,
		  int32_t *height_out, struct fault *fault);

/* As decoder_begin(), of a file that is to be read as wide pixels of this form; with 0 channels, as
 * many as it has, else those, or it is DECODE_E_UNSUPPORTED. `form` is then that of all images of
 * decoder_read(): the samples as they are stored, of integers read as float32 the same numbers. */
int decoder_begin_wide(struct decoder *decoder, const uint8_t *data, size_t size,
		       const struct decode_limits *limits, bool exif, struct image_form *form,
		       int32_t *width_out, int32_t *height_out, struct fault *fault);

/* Begin pixels that are no file: `codec` is a row of the caller's, see codec.h, and `state` is its
 * own, borrowed until decoder_end() or the next begin. decoder_read(), decoder_set_scale() and
 * decoder_has_alpha() work as for a file; the alpha itself cannot be read. 0, a condition of the
 * row, or -ENOMEM. */
int decoder_begin_pixels(struct decoder *decoder, const struct codec *codec, void *state,
			 int32_t *width_out, int32_t *height_out, struct fault *fault);

/* The dataset's sample that an image is. */
struct decode_origin {
	struct seek_index_set *seek_indexes; /* of the dataset, borrowed; NULL: use no seek index */
	uint64_t sample;
	struct stamp stamp; /* of the file when it was read */
};
#define DECODE_ORIGIN_NULL ((struct decode_origin){0})

/* After decoder_begin(): use the image's seek index, and extend it by what is decoded; and keep
 * with it that the file is sound. Neither pixels nor errors depend on it. */
void decoder_set_origin(struct decoder *decoder, const struct decode_origin *origin);

/* Instead of decoder_read(): look for damage and complete the seek index, decode no pixels. `out`:
 * whether the format has a seek index; if not, nothing was done. 0, a condition or -ENOMEM. */
int decoder_index(struct decoder *decoder, bool *out, struct fault *fault);

/* Can the image begun have a seek index, so that a part of it takes less than the whole? */
bool decoder_has_index(const struct decoder *decoder);
/* Can the image begun have no seek index, but be rewritten as one that can? */
bool decoder_can_rewrite(const struct decoder *decoder);
/* Rewrite it, losslessly: `out` decodes to the same pixels at every scale and part, and turns
 * as the image begun does. 0, a condition (then it has to stay as it is) or -ENOMEM. */
int decoder_rewrite(struct decoder *decoder, struct buffer *out, struct fault *fault);

/* Can the image begun be decoded at a smaller size for less work? JPEGs can. */
bool decoder_can_scale(const struct decoder *decoder);

/* After decoder_begin(): decode the image begun, if it can scale, at 1/scale of its size, edges
 * rounded up; 1, 2, 4 or 8. All coordinates are then those of the smaller picture. The pixels are
 * those of libjpeg's scaled decoding, which Pillow's draft() gives. May be called again. */
void decoder_set_scale(struct decoder *decoder, unsigned scale);

/* After decoder_begin(): the image is a segmentation mask, whose pixels are numbers. decoder_read()
 * gives them as shades of grey, as NumPy shows Pillow's picture: of a palette the index, of grey
 * the value, of one bit 0 and 1. A pixel without a number of 8 bits (a colour, a larger one) comes
 * as a colour; of a file that is grey of 16 bits decoder_number() has it, too. */
void decoder_set_mask(struct decoder *decoder);
/* The number of a pixel of a mask, as decoder_read() gave it; -1: it has none. */
int32_t decoder_number(const struct decoder *decoder, const uint8_t pixel[3]);

/*
 * Decode at least the part `need` (inside the picture, not empty) of the image begun. `out` borrows
 * the decoder's memory until decoder_end() or the next decoder_begin(). May be called again for
 * another part. 0, a condition or -ENOMEM.
 */
int decoder_read(struct decoder *decoder, struct rect need, struct image *out, struct fault *fault);

/* Has the image begun an alpha channel, or a colour that stands for transparent pixels? */
bool decoder_has_alpha(const struct decoder *decoder);

/* Is the image begun a PNG of colours of 8 bits, of which each may be an id? */
bool decoder_has_ids(const struct decoder *decoder);

/* Is the image begun grey of 16 bits, of which values above 255 are read as 255? */
bool decoder_clips(const struct decoder *decoder);

/* As decoder_read(), of an image with alpha: that, as shades of grey, of Pillow's convert("RGBA").
 * `out` and that of decoder_read() may be used together. */
int decoder_read_alpha(struct decoder *decoder, struct rect need, struct image *out,
		       struct fault *fault);

/*
 * As decoder_read(), the whole picture and into `memory`, whose capacity must be that of its pixels
 * at least, and which is not grown. `out` shows them for as long as they are left there.
 */
int decoder_read_whole(struct decoder *decoder, struct buffer *memory, struct image *out,
		       struct fault *fault);

/* Done with the image begun, if there is one: what a large one took is freed. */
void decoder_end(struct decoder *decoder);

#endif
