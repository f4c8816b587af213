// SPDX-License-Identifier: MIT
/* gzip, by zlib: libarchive does not compare the checksums. Members that follow each other are one
 * content, zeros behind the last are passed over, and anything else there is an error. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define ZLIB_CONST
#include <zlib.h>

#include "storage/packing.h"

#define WITH_HEADERS 16 /* added to the window's bits: gzip's, and its checksums */

struct gzip {
	z_stream stream;
	struct packing_source source;
	bool within; /* a member */
	bool ended;
};

static int gzip_say(struct fault *fault, const char *why)
{
	return fault_say(fault, PACKING_E_BAD, "its gzip is damaged: %s: pack the file again", why);
}

/* More packed bytes; there are none left. */
static int gzip_fetch(struct gzip *gzip, struct fault *fault)
{
	const uint8_t *bytes = NULL;
	ssize_t got = gzip->source.fetch(gzip->source.context, &bytes);
	if (got < 0)
		return PACKING_E_FETCH;
	gzip->stream.next_in = bytes;
	gzip->stream.avail_in = (uInt)got;
	gzip->ended = got == 0;
	return gzip->ended && gzip->within ? gzip_say(fault, "it was cut short") : 0;
}

static int gzip_step(struct gzip *gzip, struct fault *fault)
{
	z_stream *stream = &gzip->stream;
	if (!stream->avail_in)
		return gzip_fetch(gzip, fault);
	if (!gzip->within && !*stream->next_in) {
		stream->next_in++;
		stream->avail_in--;
		return 0;
	}
	gzip->within = true;
	int result = inflate(stream, Z_NO_FLUSH);
	if (result == Z_STREAM_END) {
		gzip->within = false;
		result = inflateReset(stream);
	}
	if (result == Z_MEM_ERROR)
		return -ENOMEM;
	return result == Z_OK ? 0 : gzip_say(fault, stream->msg ? stream->msg : "bad data");
}

static int gzip_read(void *state, uint8_t *to, size_t size, size_t *got_out, struct fault *fault)
{
	struct gzip *gzip = state;
	gzip->stream.next_out = to;
	gzip->stream.avail_out = (uInt)size;
	while (gzip->stream.avail_out && !gzip->ended) {
		int result = gzip_step(gzip, fault);
		if (result)
			return result;
	}
	*got_out = size - gzip->stream.avail_out;
	return 0;
}

static void gzip_close(void *state)
{
	struct gzip *gzip = state;
	if (!gzip)
		return;
	inflateEnd(&gzip->stream);
	free(gzip);
}

static int gzip_open(void **state_out, const struct packing *packing,
		     const struct packing_source *source, struct fault *fault)
{
	struct gzip *gzip = calloc(1, sizeof(*gzip));
	(void)packing;
	(void)fault;
	if (!gzip || inflateInit2(&gzip->stream, MAX_WBITS + WITH_HEADERS) != Z_OK) {
		free(gzip);
		return -ENOMEM;
	}
	gzip->source = *source;
	*state_out = gzip;
	return 0;
}

const struct packing packing_gzip = {
	.name = "gzip",
	.begin = "\x1f\x8b",
	.memory = 1 * PACKING_MIB,
	.open = gzip_open,
	.read = gzip_read,
	.close = gzip_close,
};
