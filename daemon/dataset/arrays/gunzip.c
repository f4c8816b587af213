// SPDX-License-Identifier: MIT
#include "dataset/arrays/gunzip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "storage/packing.h"

#define BLOCK ((size_t)1 << 16)

struct gunzip {
	int fd;			    /* of what is packed, ... */
	const struct buffer *bytes; /* ... unless it is here */
	size_t at;
	const atomic_bool *cancel;
	int error;   /* of reading */
	void *state; /* of the packing */
	uint8_t block[BLOCK];
};

bool gunzip_suits(const uint8_t *bytes, size_t size)
{
	return size >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

static bool gunzip_is_cancelled(const struct gunzip *gunzip)
{
	return atomic_load_explicit(gunzip->cancel, memory_order_relaxed);
}

static ssize_t gunzip_fetch_bytes(struct gunzip *gunzip, const uint8_t **out)
{
	size_t rest = gunzip->bytes->size - gunzip->at;
	size_t size = rest < BLOCK ? rest : BLOCK;
	*out = gunzip->bytes->data + gunzip->at;
	gunzip->at += size;
	return (ssize_t)size;
}

static ssize_t gunzip_fetch(void *context, const uint8_t **out)
{
	struct gunzip *gunzip = context;
	ssize_t got;
	if (gunzip_is_cancelled(gunzip))
		return -1;
	if (gunzip->bytes)
		return gunzip_fetch_bytes(gunzip, out);
	do
		got = read(gunzip->fd, gunzip->block, BLOCK);
	while (got < 0 && errno == EINTR);
	gunzip->error = got < 0 ? errno : 0;
	*out = gunzip->block;
	return got;
}

struct gunzip *gunzip_new(int fd, const struct buffer *bytes, const atomic_bool *cancel)
{
	struct gunzip *gunzip = calloc(1, sizeof(*gunzip));
	const struct packing_source source = {gunzip_fetch, gunzip};
	struct fault why;
	if (!gunzip)
		return NULL;
	gunzip->fd = fd;
	gunzip->bytes = bytes;
	gunzip->cancel = cancel;
	if (packing_gzip.open(&gunzip->state, &packing_gzip, &source, &why) == 0)
		return gunzip;
	gunzip_free(gunzip);
	return NULL;
}

void gunzip_free(struct gunzip *gunzip)
{
	if (!gunzip)
		return;
	packing_gzip.close(gunzip->state);
	free(gunzip);
}

int gunzip_read(struct gunzip *gunzip, uint8_t *to, size_t size, size_t *got_out,
		struct fault *fault)
{
	int result = packing_gzip.read(gunzip->state, to, size, got_out, fault);
	if (result != PACKING_E_FETCH)
		return result > 0 ? GUNZIP_E_BAD : result;
	if (gunzip_is_cancelled(gunzip))
		return fault_say(fault, GUNZIP_E_CANCELLED, "opening was cancelled");
	return fault_say(fault, GUNZIP_E_BAD, "%s", strerror(gunzip->error));
}
