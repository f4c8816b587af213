/* SPDX-License-Identifier: MIT */
/*
 * The shortcut through a JPEG whose scan has an index: libjpeg decodes a smaller picture, the MCUs
 * that are needed and no others, and gets their coefficients from us (entropy.h) instead of from
 * its Huffman decoder; the rest of the work (IDCT, upsampling, colours) stays its own, and so do
 * the pixels. This reaches into libjpeg's insides, by jpegint.h; where that header is not installed
 * shortcut_none.c stands in and nothing has a shortcut.
 *
 * One object per worker. Belongs to jpeg.c; with it the door to libjpeg.
 */
#ifndef STOKER_DECODE_JPEG_SHORTCUT_H
#define STOKER_DECODE_JPEG_SHORTCUT_H

#include <stdbool.h>

#include "base/image.h"
#include "decode/codec.h"
#include "decode/decode.h"

struct jpeg_decompress_struct;
struct shortcut;

extern const bool shortcut_built_in;

int shortcut_new(struct shortcut **out); /* 0 or -ENOMEM */
void shortcut_free(struct shortcut *shortcut);
/* Between pictures: give back each piece of scratch memory that is larger. */
void shortcut_trim(struct shortcut *shortcut, size_t keep);

/*
 * Whether the picture, whose header libjpeg has just read, has an index that knows the part `need`:
 * from its dataset's store, or learnt now and left there. `input` is borrowed until the picture is
 * done.
 */
bool shortcut_find(struct shortcut *shortcut, const struct jpeg_decompress_struct *cinfo,
		   const struct codec_input *input, const struct decode_origin *origin,
		   struct rect need);

/*
 * If so, between jpeg_read_header() and jpeg_start_decompress(): make libjpeg take the picture for
 * the part of it that `need` takes; `part_out` is what it decodes, in the picture's coordinates. 0,
 * SEEK_INDEX_E_INDEX or -ENOMEM.
 */
int shortcut_shrink(struct shortcut *shortcut, struct jpeg_decompress_struct *cinfo,
		    struct rect *part_out);
/* After jpeg_start_decompress(). Coefficients that cannot be had end in libjpeg's error_exit(). */
void shortcut_enter(struct shortcut *shortcut, struct jpeg_decompress_struct *cinfo);
/* It went wrong: if the index was why, it is never used again. */
void shortcut_forget(struct shortcut *shortcut, const struct decode_origin *origin);

#endif
