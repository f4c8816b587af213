// SPDX-License-Identifier: MIT
/* xz, by liblzma: its writer says how much memory unpacking takes, each block again, and libarchive
 * would give it 1 GiB. */
#include <errno.h>
#include <lzma.h>
#include <stdbool.h>
#include <stdlib.h>

#include "storage/packing.h"

#define MEMORY (72 * PACKING_MIB) /* `xz -9` takes 65 */

struct xz {
	lzma_stream stream;
	struct packing_source source;
	lzma_action action; /* LZMA_FINISH: all has been fetched */
	bool ended;
};

static int xz_say(const struct xz *xz, lzma_ret result, struct fault *fault)
{
	switch (result) {
	case LZMA_MEM_ERROR:
		return -ENOMEM;
	case LZMA_MEMLIMIT_ERROR:
		return fault_say(
			fault, PACKING_E_BAD,
			"its xz wants %llu MiB of memory to be unpacked, and %llu MiB are "
			"allowed: pack it again, with xz -9 or less, or unpack it",
			(unsigned long long)((lzma_memusage(&xz->stream) + PACKING_MIB - 1) /
					     PACKING_MIB),
			(unsigned long long)(MEMORY / PACKING_MIB));
	case LZMA_BUF_ERROR:
		return fault_say(fault, PACKING_E_BAD, "its xz was cut short: copy it again");
	case LZMA_OPTIONS_ERROR:
	case LZMA_UNSUPPORTED_CHECK:
		return fault_say(
			fault, PACKING_E_BAD,
			"its xz has a filter or a checksum that the installed liblzma does "
			"not know: unpack it");
	default:
		return fault_say(fault, PACKING_E_BAD, "its xz is damaged: pack the file again");
	}
}

static int xz_fetch(struct xz *xz)
{
	const uint8_t *bytes = NULL;
	ssize_t got = xz->source.fetch(xz->source.context, &bytes);
	if (got < 0)
		return PACKING_E_FETCH;
	xz->stream.next_in = bytes;
	xz->stream.avail_in = (size_t)got;
	xz->action = got ? LZMA_RUN : LZMA_FINISH;
	return 0;
}

static int xz_step(struct xz *xz, struct fault *fault)
{
	if (!xz->stream.avail_in && xz->action == LZMA_RUN) {
		int result = xz_fetch(xz);
		if (result)
			return result;
	}
	lzma_ret result = lzma_code(&xz->stream, xz->action);
	xz->ended = result == LZMA_STREAM_END;
	return result == LZMA_OK || xz->ended ? 0 : xz_say(xz, result, fault);
}

static int xz_read(void *state, uint8_t *to, size_t size, size_t *got_out, struct fault *fault)
{
	struct xz *xz = state;
	xz->stream.next_out = to;
	xz->stream.avail_out = size;
	while (xz->stream.avail_out && !xz->ended) {
		int result = xz_step(xz, fault);
		if (result)
			return result;
	}
	*got_out = size - xz->stream.avail_out;
	return 0;
}

static void xz_close(void *state)
{
	struct xz *xz = state;
	if (!xz)
		return;
	lzma_end(&xz->stream);
	free(xz);
}

static int xz_open(void **state_out, const struct packing *packing,
		   const struct packing_source *source, struct fault *fault)
{
	struct xz *xz = calloc(1, sizeof(*xz));
	(void)packing;
	if (!xz)
		return -ENOMEM;
	*xz = (struct xz){.stream = LZMA_STREAM_INIT, .source = *source, .action = LZMA_RUN};
	lzma_ret result = lzma_stream_decoder(&xz->stream, MEMORY,
					      LZMA_CONCATENATED | LZMA_TELL_UNSUPPORTED_CHECK);
	if (result != LZMA_OK) {
		int said = xz_say(xz, result, fault);
		xz_close(xz);
		return said;
	}
	*state_out = xz;
	return 0;
}

const struct packing packing_xz = {
	.name = "xz",
	.begin = "\xfd"
		 "7zXZ",
	.memory = MEMORY,
	.open = xz_open,
	.read = xz_read,
	.close = xz_close,
};
