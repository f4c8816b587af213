// SPDX-License-Identifier: MIT
/*
 * The JPEG seek index and decoding by it, against libjpeg. Whatever was decoded before, a part of a
 * file has the same result as without an index: the same condition, the same pixels. If libjpeg
 * decodes the whole file without a warning, they are those of the whole. An index that was extended
 * part by part equals one that was built at once. An index that was changed, or is another file's,
 * leads to wrong pixels at worst.
 *
 * The first byte chooses the parts. The low three bits of the second are the number of changes to
 * the index that follow, three bytes each: the position (two bytes), and what is XORed there. The
 * rest is the file.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "base/buffer.h"
#include "decode/decode.h"
#include "decode/jpeg/seek_index_set.h"
#include "tests/fuzz/fuzz.h"

#define PARTS 5

static const struct decode_limits limits = {1 << 18, 8 << 20, 100, 0};

struct plain {
	struct jpeg_decompress_struct cinfo;
	struct jpeg_error_mgr error;
	jmp_buf back;
	uint8_t *pixels;
};

static void on_error(j_common_ptr cinfo)
{
	struct plain *plain = cinfo->client_data;
	longjmp(plain->back, 1);
}

static void on_message(j_common_ptr cinfo)
{
	(void)cinfo;
}

/* CMYK to RGB as Pillow does, in place. */
static void cmyk_row_to_rgb(uint8_t *row, size_t width)
{
	for (size_t i = 0; i < width; i++) {
		uint8_t ink[4];
		memcpy(ink, row + i * 4, 4);
		for (int c = 0; c < 3; c++) {
			int covered = (255 - ink[c]) * ink[3] + 128;
			int value = ink[3] - ((covered + (covered >> 8)) >> 8);
			row[i * 3 + (size_t)c] = (uint8_t)(value > 0 ? value : 0);
		}
	}
}

/* Decode the whole by libjpeg alone. False if there was an error or a warning. */
static bool plain_decode(struct plain *plain, const uint8_t *data, size_t size)
{
	struct jpeg_decompress_struct *cinfo = &plain->cinfo;
	cinfo->err = jpeg_std_error(&plain->error);
	plain->error.error_exit = on_error;
	plain->error.output_message = on_message;
	cinfo->client_data = plain;
	if (setjmp(plain->back))
		return false;
	jpeg_create_decompress(cinfo);
	jpeg_mem_src(cinfo, data, size);
	while (jpeg_read_header(cinfo, FALSE) == JPEG_HEADER_TABLES_ONLY)
		;
	if ((uint64_t)cinfo->image_width * cinfo->image_height > limits.max_pixels)
		return false;
	cinfo->out_color_space = cinfo->num_components == 4 ? JCS_CMYK : JCS_RGB;
	jpeg_start_decompress(cinfo);
	size_t width = cinfo->output_width, row = width * 3;
	/* Rows of CMYK have four bytes a pixel: room for the last one. */
	plain->pixels = malloc(row * cinfo->output_height + width);
	if (!plain->pixels)
		abort();
	while (cinfo->output_scanline < cinfo->output_height) {
		JSAMPROW to = plain->pixels + cinfo->output_scanline * row;
		jpeg_read_scanlines(cinfo, &to, 1);
		if (cinfo->output_components == 4)
			cmyk_row_to_rgb(to, width);
	}
	jpeg_finish_decompress(cinfo); /* what follows the scan counts, as in Pillow */
	return cinfo->err->num_warnings == 0;
}

static struct rect part_of(uint8_t choice, int32_t width, int32_t height)
{
	int32_t x = (int32_t)((int64_t)width * (choice & 15) / 16);
	int32_t y = (int32_t)((int64_t)height * (choice >> 4) / 16);
	return (struct rect){x, y, (width - x + choice % 3) / (1 + choice % 3),
			     (height - y + choice % 2) / (1 + choice % 2)};
}

static bool part_is_equal(const struct image *image, struct rect part, const uint8_t *whole)
{
	for (int32_t y = part.y; y < part.y + part.height; y++) {
		const uint8_t *row = image->pixels + (size_t)(y - image->area.y) * image->stride +
				     (size_t)(part.x - image->area.x) * 3;
		const uint8_t *expected =
			whole + ((size_t)y * (size_t)image->width + (size_t)part.x) * 3;
		if (memcmp(row, expected, (size_t)part.width * 3) != 0)
			return false;
	}
	return true;
}

/* A file, and its set of indexes. */
struct subject {
	const uint8_t *data;
	size_t size;
	struct seek_index_set *set; /* or NULL */
};

static int decode(const struct subject *subject, uint8_t choice, struct image *image,
		  struct rect *part)
{
	static struct decoder *decoder; /* used again for each input, as by a worker */
	const struct decode_origin origin = {subject->set, 0, {subject->size, 1}};
	struct fault fault;
	int32_t width, height;
	if (!decoder && decoder_new(&decoder) != 0)
		abort();
	int r = decoder_begin(decoder, subject->data, subject->size, &limits, false, &width,
			      &height, &fault);
	if (r)
		return r;
	decoder_set_origin(decoder, &origin);
	*part = part_of(choice, width, height);
	return decoder_read(decoder, *part, image, &fault);
}

/* The part's pixels without an index, at their position in an image of the whole size; NULL if the
 * part cannot be decoded. free() */
static uint8_t *decode_plain(const struct subject *by, uint8_t choice)
{
	const struct subject plain = {by->data, by->size, NULL};
	struct image image;
	struct rect part;
	if (decode(&plain, choice, &image, &part) != 0)
		return NULL;
	size_t width = (size_t)image.width;
	uint8_t *pixels = malloc(width * (size_t)image.height * 3);
	if (!pixels)
		abort();
	for (int32_t y = part.y; y < part.y + part.height; y++)
		memcpy(pixels + ((size_t)y * width + (size_t)part.x) * 3,
		       image.pixels + (size_t)(y - image.area.y) * image.stride +
			       (size_t)(part.x - image.area.x) * 3,
		       (size_t)part.width * 3);
	return pixels;
}

static void check_part(const struct subject *by, uint8_t choice, const uint8_t *whole)
{
	uint8_t *expected = decode_plain(by, choice);
	struct image image;
	struct rect part;
	int r = decode(by, choice, &image, &part);
	if ((r == 0) != (expected != NULL))
		abort(); /* success depends on the index */
	if (r == 0 && !part_is_equal(&image, part, expected))
		abort(); /* other pixels */
	if (whole && (r != 0 || !part_is_equal(&image, part, whole)))
		abort(); /* other pixels than libjpeg's */
	free(expected);
}

static int copy_index(void *context, uint64_t sample, const struct stamp *stamp,
		      const uint8_t *bytes, size_t size)
{
	struct buffer *copy = context;
	if (sample != 0 || stamp->content != 1 || seek_index_size(bytes, size) < size ||
	    buffer_reserve(copy, size))
		abort();
	memcpy(copy->data, bytes, size);
	copy->size = size;
	return 0;
}

/* The rows that both cover have to be the same. */
static void compare_indexes(const struct seek_index_set *a, const struct seek_index_set *b)
{
	const size_t known = offsetof(struct seek_index_header, known),
		     head = sizeof(struct seek_index_header);
	struct buffer x = BUFFER_NULL, y = BUFFER_NULL;
	seek_index_set_each(a, copy_index, &x);
	seek_index_set_each(b, copy_index, &y);
	size_t size = x.size < y.size ? x.size : y.size;
	if (size > 0 && (memcmp(x.data, y.data, known) != 0 ||
			 memcmp(x.data + head, y.data + head, size - head) != 0))
		abort();
	buffer_deinit(&x);
	buffer_deinit(&y);
}

static void check_account(const struct seek_index_budget *account)
{
	if (account->refused[SEEK_INDEX_E_INDEX])
		abort(); /* an index was refused for its own file */
	if (account->bytes > account->limit)
		abort();
}

/* Several parts with one set, one of them twice; and with another set the part chosen by 0. */
static void check_parts(const struct subject *by, uint8_t choice, struct seek_index_budget *account)
{
	struct seek_index_budget other = {.limit = 1 << 20};
	struct subject whole = *by;
	struct plain plain = {.pixels = NULL};
	bool content = plain_decode(&plain, by->data, by->size);
	for (unsigned i = 0; i < PARTS; i++)
		check_part(by, (uint8_t)(choice * (2 * i + 1) + (i > 1 ? 73 * (i - 1) : 0)),
			   content ? plain.pixels : NULL);
	check_account(account);
	if (seek_index_set_new(&whole.set, &other, NULL, 1) != 0)
		abort();
	check_part(&whole, 0, content ? plain.pixels : NULL);
	check_account(&other);
	compare_indexes(by->set, whole.set);
	seek_index_set_free(whole.set);
	free(plain.pixels);
	jpeg_destroy_decompress(&plain.cinfo); /* harmless if it was never made */
}

/* Decode with a changed index of this file. */
static void decode_changed(const struct subject *by, uint8_t choice, const uint8_t *changes,
			   unsigned count)
{
	struct seek_index_budget account = {.limit = 1 << 20};
	struct subject again = *by;
	const struct stamp stamp = {by->size, 1};
	struct buffer index = BUFFER_NULL;
	struct image image;
	struct rect part;
	seek_index_set_each(by->set, copy_index, &index);
	if (index.size == 0)
		return;
	if (seek_index_set_new(&again.set, &account, NULL, 1) != 0)
		abort();
	for (unsigned i = 0; i < count; i++)
		index.data[(size_t)(changes[3 * i] << 8 | changes[3 * i + 1]) % index.size] ^=
			changes[3 * i + 2];
	seek_index_set_load(again.set, 0, &stamp, index.data, index.size);
	decode(&again, choice, &image, &part);
	decode(&again, 0, &image, &part);
	buffer_deinit(&index);
	seek_index_set_free(again.set);
}

FUZZ_TARGET(seek_index)
{
	struct seek_index_budget account = {.limit = 1 << 20};
	if (size < 2 || size < 2 + (size_t)(data[1] & 7) * 3)
		return 0;
	unsigned changes = data[1] & 7;
	struct subject by = {data + 2 + changes * 3, size - 2 - changes * 3, NULL};
	if (seek_index_set_new(&by.set, &account, NULL, 1) != 0)
		abort();
	check_parts(&by, data[0], &account);
	if (changes)
		decode_changed(&by, data[0], data + 2, changes);
	seek_index_set_free(by.set);
	return 0;
}
