/* SPDX-License-Identifier: MIT */
/*
 * PNG, by libspng, which no other file knows. Every colour type, bit depth and interlacing, turned
 * into RGB as Pillow does; of an animated PNG the default image. Decodes no row below the last one
 * that is needed. Keeps nothing from call to call; what libspng allocates is from the arena.
 */
#ifndef STOKER_DECODE_PNG_H
#define STOKER_DECODE_PNG_H

#include "decode/codec.h"

extern const struct codec codec_png;

#endif
