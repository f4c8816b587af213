/* SPDX-License-Identifier: MIT */
/* The codec of AVIF, of which the first frame counts: see codec.h. */
#ifndef STOKER_DECODE_AVIF_H
#define STOKER_DECODE_AVIF_H

#include "decode/codec.h"

extern const struct codec codec_avif;

#endif
