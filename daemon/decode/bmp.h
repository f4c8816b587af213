/* SPDX-License-Identifier: MIT */
/* The codec of Windows' and OS/2's BMP: see codec.h. */
#ifndef STOKER_DECODE_BMP_H
#define STOKER_DECODE_BMP_H

#include "decode/codec.h"

extern const struct codec codec_bmp;

#endif
