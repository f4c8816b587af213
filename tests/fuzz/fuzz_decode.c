// SPDX-License-Identifier: MIT
/*
 * The decoder on arbitrary bytes: it decodes a part, then the whole image, then the part again. If
 * one of them succeeds all must, with the same pixels, and so must a rewritten file. Every pixel is
 * read, so that the memory sanitizer finds one that was never written. The first byte chooses the
 * part and whether EXIF is applied; the rest is the file.
 */
#include <stdbool.h>
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

static void decode_both(struct decoder *decoder, struct rect part, int32_t width, int32_t height,
			bool sound)
{
	struct fault fault;
	struct image image;
	int r = decoder_read(decoder, (struct rect){0, 0, width, height}, &image, &fault);
	if ((r == 0) != sound)
		abort(); /* whether the file is damaged depends on the part */
	if (r != 0)
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

/* The alpha of a picture whose colours were read. */
static void decode_alpha(struct decoder *decoder, struct rect part, int32_t width, int32_t height)
{
	struct fault fault;
	struct image image;
	if (!decoder_has_alpha(decoder))
		return;
	if (decoder_read_alpha(decoder, (struct rect){0, 0, width, height}, &image, &fault) != 0)
		abort(); /* the colours can be decoded, and the alpha cannot */
	uint8_t *whole = copy_part(&image, part);
	if (decoder_read_alpha(decoder, part, &image, &fault) != 0)
		abort(); /* the whole can be decoded, and a part cannot */
	uint8_t *again = copy_part(&image, part);
	if (memcmp(whole, again, (size_t)part.width * 3 * (size_t)part.height) != 0)
		abort(); /* a part differs from the whole */
	free(again);
	free(whole);
}

/* A file that is written again is the same picture. */
static void decode_rewritten(struct decoder *decoder, const uint8_t *data, size_t size, bool exif,
			     int32_t width, int32_t height)
{
	static struct buffer rewritten;
	const struct rect all = {0, 0, width, height};
	struct fault fault;
	struct image image;
	if (decoder_begin(decoder, data, size, &limits, exif, &width, &height, &fault) != 0 ||
	    !decoder_can_rewrite(decoder) || decoder_rewrite(decoder, &rewritten, &fault) != 0)
		return;
	if (decoder_read(decoder, all, &image, &fault) != 0)
		abort(); /* it could be written again, but not decoded */
	uint8_t *wanted = copy_part(&image, all);
	if (decoder_begin(decoder, rewritten.data, rewritten.size, &limits, exif, &width, &height,
			  &fault) != 0 ||
	    width != all.width || height != all.height || decoder_can_rewrite(decoder) ||
	    decoder_read(decoder, all, &image, &fault) != 0)
		abort(); /* what was written is not such a picture */
	uint8_t *got = copy_part(&image, all);
	if (memcmp(wanted, got, (size_t)width * 3 * (size_t)height) != 0)
		abort(); /* it looks different */
	free(got);
	free(wanted);
}

/* As wide pixels a part is that of the whole, too. */
static void decode_wide(struct decoder *decoder, const uint8_t *data, size_t size,
			enum image_type type)
{
	struct image_form form = {type, 0};
	struct fault fault;
	struct image image;
	int32_t width, height;
	if (decoder_begin_wide(decoder, data + 1, size - 1, &limits, data[0] & 1, &form, &width,
			       &height, &fault) != 0)
		return;
	const struct rect part = part_of(data[0], width, height), all = {0, 0, width, height};
	const size_t bytes = image_pixel_bytes(form), row = (size_t)part.width * bytes;
	if (decoder_read(decoder, part, &image, &fault) != 0)
		return;
	uint8_t *kept = malloc(row * (size_t)part.height);
	for (int32_t y = 0; y < part.height; y++)
		memcpy(kept + (size_t)y * row,
		       image.pixels + (size_t)(part.y + y - image.area.y) * image.stride +
			       (size_t)(part.x - image.area.x) * bytes,
		       row);
	if (decoder_read(decoder, all, &image, &fault) != 0)
		abort(); /* a part can be decoded, and the whole cannot */
	for (int32_t y = 0; y < part.height; y++)
		if (memcmp(kept + (size_t)y * row,
			   image.pixels + (size_t)(part.y + y) * image.stride +
				   (size_t)part.x * bytes,
			   row) != 0)
			abort(); /* a part differs from the whole */
	free(kept);
}

FUZZ_TARGET(decode)
{
	static struct decoder *decoder; /* used again for each input, as by a worker */
	struct fault fault;
	struct image image;
	int32_t width, height;
	if (size < 1 || (!decoder && decoder_new(&decoder) != 0))
		return 0;
	decode_wide(decoder, data, size, IMAGE_UINT16);
	decode_wide(decoder, data, size, IMAGE_FLOAT32);
	if (decoder_begin(decoder, data + 1, size - 1, &limits, data[0] & 1, &width, &height,
			  &fault) != 0)
		return 0;
	struct rect part = part_of(data[0], width, height);
	bool sound = decoder_read(decoder, part, &image, &fault) == 0;
	if (decoder_begin(decoder, data + 1, size - 1, &limits, data[0] & 1, &width, &height,
			  &fault) != 0)
		abort(); /* it begins only sometimes */
	decode_both(decoder, part, width, height, sound);
	if (sound)
		decode_alpha(decoder, part, width, height);
	decode_rewritten(decoder, data + 1, size - 1, data[0] & 1, width, height);
	return 0;
}
