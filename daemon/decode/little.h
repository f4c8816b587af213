/* SPDX-License-Identifier: MIT */
/* Numbers whose lowest byte is first, as BMP and GIF have them; any thread. The caller has checked
 * that the bytes are there. */
#ifndef STOKER_DECODE_LITTLE_H
#define STOKER_DECODE_LITTLE_H

#include <stdint.h>

static inline uint32_t little16(const uint8_t *bytes)
{
	return bytes[0] | (uint32_t)bytes[1] << 8;
}

static inline uint32_t little32(const uint8_t *bytes)
{
	return little16(bytes) | little16(bytes + 2) << 16;
}

#endif
