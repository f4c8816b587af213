/* SPDX-License-Identifier: MIT */
/*
 * Entropy decoding of a part of a baseline JPEG by its seek index: the coefficients of the MCUs of
 * a rectangle, several rows of MCUs at a time. Owns tables and scratch memory, reused from picture
 * to picture; one thread at a time. Knows no libjpeg.
 *
 * The bytes may be hostile and the index may be another file's: the result is then wrong
 * coefficients or ENTROPY_E_STALE, and nothing worse.
 */
#ifndef STOKER_DECODE_JPEG_ENTROPY_H
#define STOKER_DECODE_JPEG_ENTROPY_H

#include "base/image.h"
#include "decode/jpeg/seek_index.h"

enum {
	ENTROPY_E_STALE = 1, /* the index does not fit the bytes */
};

struct entropy;
struct entropy_kernel;

int entropy_new(struct entropy **out, const struct entropy_kernel *kernel); /* 0 or -ENOMEM */
void entropy_free(struct entropy *entropy);
/* Between pictures: free each piece of scratch memory that is larger. */
void entropy_trim(struct entropy *entropy, size_t keep);

/*
 * Begin with the MCUs of `box` (in MCUs; inside the frame, not empty). `data`, the file, and the
 * index are borrowed until the last entropy_next(). 0, ENTROPY_E_STALE or -ENOMEM.
 */
int entropy_begin(struct entropy *entropy, const struct scan_frame *frame,
		  const struct seek_index *index, const uint8_t *data, size_t size,
		  struct rect box);
/*
 * Write the coefficients of the next MCU of the box, row by row: 64 for each block, in natural
 * order. With NULL the MCU is skipped. To be called at most once for each MCU. 0, ENTROPY_E_STALE
 * or -ENOMEM.
 */
int entropy_next(struct entropy *entropy, int16_t *const *blocks);

#endif
