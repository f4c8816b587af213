// SPDX-License-Identifier: MIT
#include "decode/codec.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"

struct codec_number codec_number(uint64_t number)
{
	char digits[24];
	struct codec_number out;
	int count = snprintf(digits, sizeof(digits), "%" PRIu64, number);
	char *to = out.text;
	for (int i = 0; i < count; i++) {
		if (i > 0 && (count - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return out;
}

int codec_check_size(const struct codec_input *input, uint64_t width, uint64_t height,
		     struct fault *fault)
{
	if (width == 0 || height == 0)
		return fault_say(fault, DECODE_E_CORRUPT, "an empty picture: %" PRIu64 "x%" PRIu64,
				 width, height);
	if (width > INT32_MAX || height > INT32_MAX || width * height > input->limits.max_pixels)
		return fault_say(fault, DECODE_E_LIMIT,
				 "%" PRIu64 "x%" PRIu64 " = %s pixels, the limit is %s", width,
				 height, codec_number(width * height).text,
				 codec_number(input->limits.max_pixels).text);
	return 0;
}

int codec_check_time(const struct codec_input *input, struct fault *fault)
{
	unsigned limit = input->limits.deadline_ms;
	if (limit == 0)
		return 0;
	uint64_t used = (clock_thread_ns() - input->start_ns) / 1000000u;
	if (used < limit)
		return 0;
	return fault_say(fault, DECODE_E_LIMIT,
			 "not decoded after %" PRIu64 " ms of CPU time, the limit is %u ms", used,
			 limit);
}

int codec_room(const struct codec_header *header, struct rect area, struct buffer *pixels,
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
