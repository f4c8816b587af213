// SPDX-License-Identifier: MIT
/* Stub for tiff.c where libtiff is missing: TIFF is recognised and refused. */
#include <string.h>

#include "decode/foreign.h"
#include "decode/tiff.h"

static bool tiff_accepts(const uint8_t *data, size_t size)
{
	const char *name = foreign_name(data, size);
	return name && strcmp(name, "TIFF") == 0;
}

static int tiff_begin(void *state, const struct codec_input *input, struct codec_header *out,
		      struct fault *fault)
{
	(void)state;
	(void)input;
	(void)out;
	return fault_say(fault, DECODE_E_UNSUPPORTED,
			 "is TIFF, and this stokerd was built without libtiff: build it with, or "
			 "convert the picture");
}

static int tiff_read(void *state, const struct codec_input *input, struct rect need,
		     struct buffer *pixels, struct image *out, struct fault *fault)
{
	(void)need;
	(void)pixels;
	(void)out;
	return tiff_begin(state, input, NULL, fault);
}

const struct codec codec_tiff = {
	.name = "TIFF",
	.accepts = tiff_accepts,
	.begin = tiff_begin,
	.read = tiff_read,
};
