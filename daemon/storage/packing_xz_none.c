// SPDX-License-Identifier: MIT
/* Stub for packing_xz.c where liblzma is missing: xz is recognised and refused. */
#include "storage/packing.h"

static int xz_open(void **state_out, const struct packing *packing,
		   const struct packing_source *source, struct fault *fault)
{
	(void)state_out;
	(void)packing;
	(void)source;
	return fault_say(
		fault, PACKING_E_BAD,
		"it is packed with xz, and this stokerd was built without liblzma: build it "
		"with, or unpack the shard");
}

static int xz_read(void *state, uint8_t *to, size_t size, size_t *got_out, struct fault *fault)
{
	(void)state;
	(void)to;
	(void)size;
	(void)got_out;
	(void)fault;
	return PACKING_E_FETCH;
}

static void xz_close(void *state)
{
	(void)state;
}

const struct packing packing_xz = {
	.name = "xz",
	.begin = "\xfd"
		 "7zXZ",
	.open = xz_open,
	.read = xz_read,
	.close = xz_close,
};
