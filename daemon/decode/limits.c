// SPDX-License-Identifier: MIT
#include "decode/limits.h"

#include <inttypes.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/quote.h"

int limits_check_size(const struct decode_limits *limits, uint64_t width, uint64_t height,
		      struct fault *fault)
{
	if (width == 0 || height == 0)
		return fault_say(fault, DECODE_E_CORRUPT,
				 "the image is empty: %" PRIu64 "x%" PRIu64 " pixels", width,
				 height);
	if (width > INT32_MAX || height > INT32_MAX || width * height > limits->max_pixels)
		return fault_say(fault, DECODE_E_LIMIT,
				 "%" PRIu64 "x%" PRIu64
				 " = %s pixels, the limit is %s (max-pixels)",
				 width, height, quote_number(width * height).text,
				 quote_number(limits->max_pixels).text);
	return 0;
}

int limits_check_form(const struct decode_limits *limits, uint64_t width, uint64_t height,
		      struct image_form form, struct fault *fault)
{
	int r = limits_check_size(limits, width, height, fault);
	if (r)
		return r;
	if (form.channels == 0 || form.channels > IMAGE_CHANNELS_MAX)
		return fault_say(fault, DECODE_E_LIMIT,
				 "the picture has %u channels, and 1 to %d can be read",
				 form.channels, IMAGE_CHANNELS_MAX);
	if (width * height * image_pixel_bytes(form) <= limits->max_pixels * 3)
		return 0;
	return fault_say(fault, DECODE_E_LIMIT,
			 "%llu x %llu pixels of %u channels take more memory than a picture may "
			 "(max-pixels %llu, of 3 bytes)",
			 (unsigned long long)width, (unsigned long long)height, form.channels,
			 (unsigned long long)limits->max_pixels);
}

int limits_check_time(const struct decode_limits *limits, uint64_t start_ns, struct fault *fault)
{
	unsigned limit = limits->deadline_ms;
	if (cancel_is_unwanted(limits->unwanted))
		return fault_say(fault, DECODE_E_LIMIT, "nobody wants it any more");
	if (limit == 0)
		return 0;
	uint64_t used = (clock_thread_ns() - start_ns) / 1000000u;
	if (used < limit)
		return 0;
	return fault_say(fault, DECODE_E_LIMIT,
			 "decoding stopped after %" PRIu64
			 " ms of CPU time, the limit is %u ms (decode-deadline)",
			 used, limit);
}
