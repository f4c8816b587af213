// SPDX-License-Identifier: MIT
#include "decode/codec.h"

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
