/* SPDX-License-Identifier: MIT */
/* The codec of Netpbm's PBM, PGM and PPM, plain and binary: see codec.h. */
#ifndef STOKER_DECODE_NETPBM_H
#define STOKER_DECODE_NETPBM_H

#include "decode/codec.h"

extern const struct codec codec_netpbm;

#endif
