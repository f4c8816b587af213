// SPDX-License-Identifier: MIT
#include "decode/cmyk.h"

void cmyk_to_rgb(const uint8_t *from, uint8_t *to, size_t count)
{
	for (size_t i = 0; i < count; i++, from += 4, to += 3) {
		int white = from[3];
		for (int c = 0; c < 3; c++) {
			int product = (255 - from[c]) * white + 128;
			int value = white - (((product >> 8) + product) >> 8);
			to[c] = (uint8_t)(value < 0 ? 0 : value);
		}
	}
}
