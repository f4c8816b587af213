/* SPDX-License-Identifier: MIT */
/*
 * JPEG, by libjpeg-turbo. Decodes only the rows and columns that are needed, with the pixels of a
 * full decode; of a baseline file only the blocks that are needed, by its seek index
 * (indexed_decode.h). The state holds libjpeg's object, made once and used for every image; what
 * libjpeg allocates for an image is from the arena.
 */
#ifndef STOKER_DECODE_JPEG_JPEG_H
#define STOKER_DECODE_JPEG_JPEG_H

#include "decode/codec.h"

extern const struct codec codec_jpeg;

#endif
