/* SPDX-License-Identifier: MIT */
/*
 * What libjpeg is given and what it says: a source of bytes, and what its errors mean. Pure; a
 * worker's thread.
 *
 * The source is a suspending one that never has more to give: where the bytes end, the library
 * stops and says so, where its own source would make up an end and paint the rest grey.
 */
#ifndef STOKER_DECODE_JPEG_JPEG_LIBRARY_H
#define STOKER_DECODE_JPEG_JPEG_LIBRARY_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h> /* jpeglib.h needs it */

#include <jpeglib.h>

/* `data` is borrowed for as long as the source is read. */
void jpeg_source_init(struct jpeg_source_mgr *source, const uint8_t *data, size_t size);

/* The condition of decode.h, or -ENOMEM, that an error of the library (J_MESSAGE_CODE) is. */
int jpeg_condition(int code);

#endif
