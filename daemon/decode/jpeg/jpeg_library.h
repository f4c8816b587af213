/* SPDX-License-Identifier: MIT */
/*
 * Adapters to libjpeg: a data source, its error codes as conditions, and what follows from what it
 * has read. Pure; a worker's thread.
 *
 * The source suspends when the bytes end, so libjpeg stops and says so; its own memory source would
 * insert an end marker, and the rest of the picture would be grey.
 */
#ifndef STOKER_DECODE_JPEG_JPEG_LIBRARY_H
#define STOKER_DECODE_JPEG_JPEG_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h> /* jpeglib.h needs it */

#include <jpeglib.h>

#include "base/image.h"

/* `data` is borrowed while the source is read. */
void jpeg_source_init(struct jpeg_source_mgr *source, const uint8_t *data, size_t size);

/* The condition of decode.h, or -ENOMEM, for an error of libjpeg (J_MESSAGE_CODE). */
int jpeg_condition(int code);

/* After jpeg_read_header(): what libjpeg has to hold of a file of several scans until it has read
 * the last one; and the orientation, of the first APP1 marker with EXIF and the last one with XMP,
 * as in Pillow. */
uint64_t jpeg_coefficient_bytes(const struct jpeg_decompress_struct *cinfo);
unsigned jpeg_orientation(const struct jpeg_decompress_struct *cinfo);
/* Let libjpeg hold so many bytes of coefficients. */
void jpeg_limit_memory(struct jpeg_decompress_struct *cinfo, uint64_t bytes);
/* After jpeg_start_decompress(): whether libjpeg smooths the blocks, since a progressive file lacks
 * its last scans. At the borders of a part it does so differently from within the whole. */
bool jpeg_is_smoothed(const struct jpeg_decompress_struct *cinfo);
/* Then, too: have the columns of `need` decoded, and return the area, with all pixels as in the
 * whole picture. Columns: whole iMCUs and one more on each side, for the upsampling of chroma.
 * Rows: libjpeg keeps the context that it needs. */
struct rect jpeg_crop(struct jpeg_decompress_struct *cinfo, struct rect need);

#endif
