/* SPDX-License-Identifier: MIT */
/*
 * Decoding of a part of a JPEG by its seek index. libjpeg is made to decode a smaller picture, of
 * the needed MCUs alone, and gets their coefficients from entropy.h in place of its own Huffman
 * decoder. IDCT, upsampling and colour conversion stay libjpeg's, and so do the pixels.
 *
 * This uses libjpeg-turbo's internals (jpegint.h). Where that header is not installed,
 * indexed_decode_none.c takes the place of indexed_decode.c and finds no index.
 *
 * A part of jpeg.c: one object per worker, on its thread.
 */
#ifndef STOKER_DECODE_JPEG_INDEXED_DECODE_H
#define STOKER_DECODE_JPEG_INDEXED_DECODE_H

#include <stdbool.h>

#include "base/image.h"
#include "decode/codec.h"
#include "decode/decode.h"

struct jpeg_decompress_struct;
struct indexed_decode;

extern const bool indexed_decode_built_in;

int indexed_decode_new(struct indexed_decode **out); /* 0 or -ENOMEM */
void indexed_decode_free(struct indexed_decode *indexed);
/* Between pictures: free each piece of scratch memory that is larger. */
void indexed_decode_trim(struct indexed_decode *indexed, size_t keep);

/*
 * Has the picture, whose header libjpeg has just read, an index that covers the part `need`? It is
 * taken from the set in `input->origin`; entries that it lacks are built now and added there.
 * `input` is borrowed until the picture is done.
 */
bool indexed_decode_find(struct indexed_decode *indexed, const struct jpeg_decompress_struct *cinfo,
			 const struct codec_input *input, struct rect need);

/*
 * If so, between jpeg_read_header() and jpeg_start_decompress(): reduce the picture that libjpeg
 * decodes to the MCUs of `need`; `part_out` is their area in the whole picture. 0,
 * SEEK_INDEX_E_INDEX or -ENOMEM.
 */
int indexed_decode_crop(struct indexed_decode *indexed, struct jpeg_decompress_struct *cinfo,
			struct rect *part_out);
/* After jpeg_start_decompress(): replace libjpeg's Huffman decoder. If decoding fails, libjpeg's
 * error_exit() is called. */
void indexed_decode_attach(struct indexed_decode *indexed, struct jpeg_decompress_struct *cinfo);
/* After a failure: if the index was the reason, do not use it again. */
void indexed_decode_discard(struct indexed_decode *indexed);

#endif
