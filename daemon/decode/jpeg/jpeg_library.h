/* SPDX-License-Identifier: MIT */
/*
 * Adapters to libjpeg: a data source, and its error codes as conditions. Pure; a worker's thread.
 *
 * The source suspends when the bytes end, so libjpeg stops and says so; its own memory source would
 * insert an end marker, and the rest of the picture would be grey.
 */
#ifndef STOKER_DECODE_JPEG_JPEG_LIBRARY_H
#define STOKER_DECODE_JPEG_JPEG_LIBRARY_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h> /* jpeglib.h needs it */

#include <jpeglib.h>

/* `data` is borrowed while the source is read. */
void jpeg_source_init(struct jpeg_source_mgr *source, const uint8_t *data, size_t size);

/* The condition of decode.h, or -ENOMEM, for an error of libjpeg (J_MESSAGE_CODE). */
int jpeg_condition(int code);

#endif
