/* SPDX-License-Identifier: MIT */
/* The codec of GIF, of which the first frame counts: see codec.h. */
#ifndef STOKER_DECODE_GIF_H
#define STOKER_DECODE_GIF_H

#include "decode/codec.h"

extern const struct codec codec_gif;

#endif
