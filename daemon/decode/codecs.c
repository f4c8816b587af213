// SPDX-License-Identifier: MIT
/* The table of codecs, above all of them; what they share is in codec.c. */
#include "decode/codec.h"

#include "decode/avif.h"
#include "decode/bmp.h"
#include "decode/gif.h"
#include "decode/jpeg/jpeg.h"
#include "decode/netpbm.h"
#include "decode/png.h"
#include "decode/tiff.h"
#include "decode/webp.h"

const struct codec *const codecs[] = {
	&codec_jpeg, &codec_png, &codec_webp, &codec_bmp, &codec_netpbm,
	&codec_tiff, &codec_gif, &codec_avif, NULL,
};
