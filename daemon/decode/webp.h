/* SPDX-License-Identifier: MIT */
/*
 * WebP, by libwebp, which no other file knows. Lossy and lossless; alpha is dropped; of an
 * animation the first frame on a black canvas, as Pillow shows it. Keeps nothing from call to call.
 */
#ifndef STOKER_DECODE_WEBP_H
#define STOKER_DECODE_WEBP_H

#include "decode/codec.h"

extern const struct codec codec_webp;

#endif
