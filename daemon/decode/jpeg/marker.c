// SPDX-License-Identifier: MIT
#include "decode/jpeg/marker.h"

#include <string.h>

/* In entropy-coded data 0xFF is followed by 0 or is a restart marker. */
unsigned marker_count_scans(const uint8_t *at, const uint8_t *end, unsigned enough)
{
	unsigned scans = 0;
	while (scans <= enough && (at = memchr(at, 0xFF, (size_t)(end - at))) && end - at >= 4) {
		uint8_t marker = at[1];
		bool bare = marker == 0 || marker == 0xFF || (marker >= 0xD0 && marker <= 0xD8);
		if (marker == 0xD9)
			break;
		if (marker == 0xDA)
			scans++;
		ptrdiff_t step = bare ? (marker == 0xFF ? 1 : 2) : 2 + (at[2] << 8 | at[3]);
		if (step > end - at)
			break;
		at += step;
	}
	return scans;
}

bool marker_scan_is_plain(const uint8_t *at, size_t size)
{
	const uint8_t *end = at + size;
	while ((at = memchr(at, 0xFF, (size_t)(end - at))) && end - at >= 2) {
		if (at[1] == 0xD9)
			return true;
		if (at[1] != 0 && (at[1] < 0xD0 || at[1] > 0xD7))
			return false;
		at += 2;
	}
	return false;
}

bool marker_has_end(const uint8_t *start, size_t left)
{
	const uint8_t *at;
	while (left > 1 && (at = memrchr(start + 1, 0xD9, left - 1))) {
		if (at[-1] == 0xFF)
			return true;
		left = (size_t)(at - start);
	}
	return false;
}
