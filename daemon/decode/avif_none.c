// SPDX-License-Identifier: MIT
/* Stub for avif.c where libavif is missing: AVIF is recognised and refused. */
#include <string.h>

#include "decode/avif.h"
#include "decode/foreign.h"

static bool avif_accepts(const uint8_t *data, size_t size)
{
	const char *name = foreign_name(data, size);
	return name && strcmp(name, "AVIF") == 0;
}

static int avif_begin(void *state, const struct codec_input *input, struct codec_header *out,
		      struct fault *fault)
{
	(void)state;
	(void)input;
	(void)out;
	return fault_say(fault, DECODE_E_UNSUPPORTED,
			 "is AVIF, and this stokerd was built without libavif: build it with, or "
			 "convert the picture");
}

static int avif_read(void *state, const struct codec_input *input, struct rect need,
		     struct buffer *pixels, struct image *out, struct fault *fault)
{
	(void)need;
	(void)pixels;
	(void)out;
	return avif_begin(state, input, NULL, fault);
}

const struct codec codec_avif = {
	.name = "AVIF",
	.accepts = avif_accepts,
	.begin = avif_begin,
	.read = avif_read,
};
