/* SPDX-License-Identifier: MIT */
/* What Debian's static libexpat and libstdc++ want of glibc 2.36, for the older ones that the wheel
 * runs on. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

void arc4random_buf(void *out, size_t size)
{
	/* Up to 256 bytes come whole. */
	for (char *at = out; size; at += size < 256 ? size : 256, size -= size < 256 ? size : 256)
		if (getrandom(at, size < 256 ? size : 256, 0) < 0)
			abort();
}

uint32_t arc4random(void)
{
	uint32_t value;
	arc4random_buf(&value, sizeof(value));
	return value;
}
