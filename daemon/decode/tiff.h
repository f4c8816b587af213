/* SPDX-License-Identifier: MIT */
/* The codec of TIFF, of which the first page counts: see codec.h. */
#ifndef STOKER_DECODE_TIFF_H
#define STOKER_DECODE_TIFF_H

#include "decode/codec.h"

extern const struct codec codec_tiff;

#endif
