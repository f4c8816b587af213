/* SPDX-License-Identifier: MIT */
/*
 * Builds the index of a scan (scan.h), as far as it is wanted, and makes one that is there longer.
 * Every symbol on the way is looked at; their numbers are not, but for DC.
 *
 * Owns tables and scratch memory, used again from file to file; one thread at a time. The bytes may
 * be hostile. Knows no libjpeg and no store.
 */
#ifndef STOKER_DECODE_JPEG_SCANNER_H
#define STOKER_DECODE_JPEG_SCANNER_H

#include "decode/jpeg/seek_index.h"

struct scanner;
struct entropy_kernel;

int scanner_new(struct scanner **out, const struct entropy_kernel *kernel); /* 0 or -ENOMEM */
void scanner_free(struct scanner *scanner);

/* Whether a scan can have an index at all: 0, SEEK_INDEX_E_ODD or SEEK_INDEX_E_DAMAGED. */
int scanner_accepts(const struct scan_frame *frame, size_t file_bytes);

/*
 * Learn the rows up to `rows`, at most the frame's, of an index of the file `data`; `view` is what
 * seek_index_open() said of it. 0, SEEK_INDEX_E_ODD, SEEK_INDEX_E_DAMAGED or -ENOMEM; rows learnt
 * until then stay. With the last row the scan has to be at its end.
 */
int scanner_extend(struct scanner *scanner, const struct scan_frame *frame, const uint8_t *data,
		   size_t size, uint32_t rows, uint8_t *index, const struct seek_index *view);

#endif
