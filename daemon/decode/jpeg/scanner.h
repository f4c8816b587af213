/* SPDX-License-Identifier: MIT */
/*
 * Builds and extends seek indexes (seek_index.h) down to the row that is asked for, by skimming the
 * JPEG's scan: every Huffman code is read, but of the values only DC is decoded.
 *
 * Owns tables and scratch memory, reused from file to file; one thread at a time. The bytes may be
 * hostile. Knows no libjpeg and no set of indexes.
 */
#ifndef STOKER_DECODE_JPEG_SCANNER_H
#define STOKER_DECODE_JPEG_SCANNER_H

#include "decode/jpeg/seek_index.h"

struct scanner;
struct entropy_kernel;

int scanner_new(struct scanner **out, const struct entropy_kernel *kernel); /* 0 or -ENOMEM */
void scanner_free(struct scanner *scanner);

/* Can a file of this size have an index? 0, SEEK_INDEX_E_ODD or SEEK_INDEX_E_DAMAGED. */
int scanner_accepts(const struct scan_frame *frame, size_t file_bytes);

/*
 * Extend an index of the file `data` to `rows`, at most the frame's; `view` is its
 * seek_index_open(). 0, SEEK_INDEX_E_ODD, SEEK_INDEX_E_DAMAGED or -ENOMEM; rows covered before a
 * failure stay. After the frame's last row the scan has to end.
 */
int scanner_extend(struct scanner *scanner, const struct scan_frame *frame, const uint8_t *data,
		   size_t size, uint32_t rows, uint8_t *index, const struct seek_index *view);

#endif
