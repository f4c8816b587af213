// SPDX-License-Identifier: MIT
#include "work/copy.h"

#include <stdint.h>
#include <string.h>

#define LINE 64

#ifdef __SSE2__
#include <emmintrin.h>

/* Streaming stores, of whole lines, are not ordered: the fence puts them before later stores that
 * announce them. */
static void copy_lines(uint8_t *to, const uint8_t *from, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += LINE) {
		__m128i part[4];
		for (unsigned i = 0; i < 4; i++)
			part[i] = _mm_loadu_si128((const __m128i *)(const void *)(from + at) + i);
		for (unsigned i = 0; i < 4; i++)
			_mm_stream_si128((__m128i *)(void *)(to + at) + i, part[i]);
	}
	_mm_sfence();
}
#else
static void copy_lines(uint8_t *to, const uint8_t *from, size_t bytes)
{
	memcpy(to, from, bytes);
}
#endif

void copy_past(void *to, const void *from, size_t bytes)
{
	size_t lines = 0;
	if (bytes >= COPY_LARGE && (uintptr_t)to % LINE == 0) {
		lines = bytes / LINE * LINE;
		copy_lines(to, from, lines);
	}
	memcpy((uint8_t *)to + lines, (const uint8_t *)from + lines, bytes - lines);
}
