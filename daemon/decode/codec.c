// SPDX-License-Identifier: MIT
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

struct codec_header codec_scale(const struct codec_header *header, unsigned scale)
{
	struct codec_header scaled = *header;
	scaled.width = (header->width + (int32_t)scale - 1) / (int32_t)scale;
	scaled.height = (header->height + (int32_t)scale - 1) / (int32_t)scale;
	return scaled;
}

int codec_reserve(const struct codec_header *header, struct rect area, struct buffer *pixels,
		  struct image *out)
{
	size_t stride = (size_t)area.width * 3;
	int r = buffer_reserve(pixels, stride * (size_t)area.height);
	if (r < 0)
		return r;
	pixels->size = stride * (size_t)area.height;
	*out = (struct image){pixels->data, stride, header->width, header->height, area};
	return 0;
}
