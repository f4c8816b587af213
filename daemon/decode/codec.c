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
	size_t stride = (size_t)area.width * image_pixel_bytes(header->form);
	int r = buffer_reserve(pixels, stride * (size_t)area.height);
	if (r < 0)
		return r;
	pixels->size = stride * (size_t)area.height;
	*out = (struct image){pixels->data, stride, header->width, header->height, area};
	out->form = header->form;
	return 0;
}

int codec_refuse_wide(const struct codec_input *input, const char *format, const char *found,
		      struct fault *fault)
{
	return fault_say(fault, DECODE_E_UNSUPPORTED,
			 "%s: the file has %s, and is to be read as %s (ReadAs, dtype uint16): "
			 "leave that out for pictures of 8 bits, or take float32 for floats and "
			 "numbers below 0",
			 format, found, input->form.type == IMAGE_UINT16 ? "uint16" : "float32");
}
