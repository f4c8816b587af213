/* SPDX-License-Identifier: MIT */
/*
 * JPEG: the door to libjpeg-turbo. Decodes only the rows and columns that are needed, with the
 * pixels of a full decode. One object per worker, used again for every image; whatever the library
 * takes for an image is from the arena, which is reset with each.
 */
#ifndef STOKER_DECODE_JPEG_JPEG_H
#define STOKER_DECODE_JPEG_JPEG_H

#include "decode/codec.h"

struct arena;
struct jpeg;

int jpeg_new(struct jpeg **out, struct arena *arena); /* the arena is borrowed; 0 or -ENOMEM */
void jpeg_free(struct jpeg *jpeg);

bool jpeg_accepts(const uint8_t *data, size_t size);

/* Read the header; `input` is borrowed until jpeg_end(). 0, a condition of decode.h or -ENOMEM. */
int jpeg_begin(struct jpeg *jpeg, const struct codec_input *input, bool exif,
	       struct codec_header *out, struct fault *fault);

/* Where the image begun is from: its scan's index is kept there. */
void jpeg_set_origin(struct jpeg *jpeg, const struct decode_origin *origin);

/* Only make the index. */
void jpeg_visit(struct jpeg *jpeg);

/* Decode it at 1/scale of its size: 1, 2, 4, 8. `out` is then as if it had this size. */
void jpeg_set_scale(struct jpeg *jpeg, unsigned scale, struct codec_header *out);

/* Decode at least `need` into `pixels`. May be called again for another part. */
int jpeg_read(struct jpeg *jpeg, struct rect need, struct buffer *pixels, struct image *out,
	      struct fault *fault);

void jpeg_end(struct jpeg *jpeg); /* forget the image; harmless when there is none */
/* Between images: give back each piece of scratch memory that is larger. */
void jpeg_trim(struct jpeg *jpeg, size_t keep);

#endif
