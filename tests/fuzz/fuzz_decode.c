// SPDX-License-Identifier: MIT
/*
 * The decoder on arbitrary bytes: it decodes the whole image, then a part. If the whole succeeds,
 * the part must, too, with the same pixels. Every pixel is read, so that the memory sanitizer finds
 * one that was never written. The first byte chooses the part and whether EXIF is applied; the rest
 * is the file.
 */
#include <stdlib.h>
#include <string.h>

#include "decode/decode.h"
#include "tests/fuzz/fuzz.h"

/* Small, so that the fuzzer makes many runs; no deadline, since time is not a function of the
 * input. */
static const struct decode_limits limits = {1 << 20, 8 << 20, 100, 0};

static const uint8_t *pixel_row(const struct image *image, struct rect part, int32_t y)
{
	return image->pixels + (size_t)(part.y + y - image->area.y) * image->stride +
	       (size_t)(part.x - image->area.x) * 3;
}

static uint8_t *copy_part(const struct image *image, struct rect part)
{
	size_t row = (size_t)part.width * 3;
	uint8_t *copy = malloc(row * (size_t)part.height);
	if (!copy)
		abort();
	for (int32_t y = 0; y < part.height; y++)
		memcpy(copy + (size_t)y * row, pixel_row(image, part, y), row);
	return copy;
}

static struct rect part_of(uint8_t choice, int32_t width, int32_t height)
{
	int32_t x = (int32_t)((int64_t)width * (choice >> 1 & 7) / 8);
	int32_t y = (int32_t)((int64_t)height * (choice >> 4 & 7) / 8);
	int32_t w = (width - x + 2) / 3, h = (height - y + 1) / 2;
	return (struct rect){x, y, w, h};
}

static void decode_both(struct decoder *decoder, struct rect part, int32_t width, int32_t height)
{
	struct fault fault;
	struct image image;
	if (decoder_read(decoder, (struct rect){0, 0, width, height}, &image, &fault) != 0)
		return;
	uint8_t *whole = copy_part(&image, part);
	if (decoder_read(decoder, part, &image, &fault) != 0)
		abort(); /* the whole can be decoded, and a part cannot */
	uint8_t *again = copy_part(&image, part);
	if (memcmp(whole, again, (size_t)part.width * 3 * (size_t)part.height) != 0)
		abort(); /* a part differs from the whole */
	free(again);
	free(whole);
}

FUZZ_TARGET(decode)
{
	static struct decoder *decoder; /* used again for each input, as by a worker */
	struct fault fault;
	int32_t width, height;
	if (size < 1 || (!decoder && decoder_new(&decoder) != 0))
		return 0;
	if (decoder_begin(decoder, data + 1, size - 1, &limits, data[0] & 1, &width, &height,
			  &fault) == 0)
		decode_both(decoder, part_of(data[0], width, height), width, height);
	return 0;
}
