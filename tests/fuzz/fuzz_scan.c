// SPDX-License-Identifier: MIT
/*
 * The index of a JPEG's scan and the decoder that uses it, against libjpeg. A file that gets an
 * index is one that libjpeg decodes to its end without a warning, and each part of it has the
 * pixels that libjpeg gives, on the first visit and on later ones. And an index that somebody has
 * changed, or that is another file's, leads nowhere worse than to other pixels.
 *
 * The first byte chooses the part. The second is how many changes of the index follow, three bytes
 * each: place, place, what is XORed there. The rest is the file.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "work/decode.h"
#include "work/scans.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

/* Inks as Pillow turns them into colours. */
static void to_rgb(uint8_t *row, size_t width)
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

/* All pixels by libjpeg alone. False unless it is content with every byte of it. */
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
	cinfo->out_color_space = cinfo->num_components == 4 ? JCS_CMYK : JCS_RGB;
	jpeg_start_decompress(cinfo);
	size_t width = cinfo->output_width, row = width * 3;
	/* Room for one more row: of inks, that have four bytes. */
	plain->pixels = malloc(row * cinfo->output_height + width);
	if (!plain->pixels)
		abort();
	while (cinfo->output_scanline < cinfo->output_height) {
		JSAMPROW to = plain->pixels + cinfo->output_scanline * row;
		jpeg_read_scanlines(cinfo, &to, 1);
		if (cinfo->output_components == 4)
			to_rgb(to, width);
	}
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

struct visit {
	const uint8_t *data;
	size_t size;
	uint8_t choice;
	struct scans *scans;
};

static int visit(const struct visit *visit, struct image *image, struct rect *part)
{
	static struct decoder *decoder; /* of many pictures, as in a worker */
	const struct decode_origin origin = {visit->scans, 0, {visit->size, 1, 2}};
	struct fault fault;
	int32_t width, height;
	if (!decoder && decoder_new(&decoder) != 0)
		abort();
	int r = decoder_begin(decoder, visit->data, visit->size, &limits, false, &width, &height,
			      &fault);
	if (r)
		return r;
	decoder_set_origin(decoder, &origin);
	*part = part_of(visit->choice, width, height);
	return decoder_read(decoder, *part, image, &fault);
}

/* Twice: the first visit makes the index, the second finds it. */
static void visit_twice(const struct visit *by, struct scans_account *account)
{
	struct plain plain = {.pixels = NULL};
	struct image image;
	struct rect part;
	for (int i = 0; i < 2; i++) {
		int r = visit(by, &image, &part);
		if (account->built == 0)
			break;
		if (account->refused[SCAN_E_INDEX])
			abort(); /* an index that did not fit its own file */
		bool content = plain.pixels || plain_decode(&plain, by->data, by->size);
		if (content != (r == 0))
			abort(); /* libjpeg thinks otherwise of the file */
		if (r != 0)
			break;
		if (!part_is_equal(&image, part, plain.pixels))
			abort(); /* other pixels */
	}
	free(plain.pixels);
	jpeg_destroy_decompress(&plain.cinfo); /* harmless if it was never made */
}

/* With the index of this file, changed. */
static void visit_changed(const struct visit *by, const uint8_t *changes, unsigned count)
{
	struct scans_account account = {.limit = 1 << 20};
	struct scans *own = by->scans, *other;
	const struct stamp stamp = {by->size, 1, 2};
	const uint8_t *index;
	size_t size;
	struct image image;
	struct rect part;
	if (scans_find(own, 0, &stamp, &index, &size) != SCANS_INDEX)
		return;
	if (scans_new(&other, &account, 1) != 0)
		abort();
	uint8_t *changed = malloc(size);
	if (!changed)
		abort();
	memcpy(changed, index, size);
	for (unsigned i = 0; i < count; i++)
		changed[(size_t)(changes[3 * i] << 8 | changes[3 * i + 1]) % size] ^=
			changes[3 * i + 2];
	scans_put(other, 0, &stamp, changed, size);
	const struct visit again = {by->data, by->size, by->choice, other};
	visit(&again, &image, &part);
	free(changed);
	scans_free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scans_account account = {.limit = 1 << 20};
	struct visit by;
	if (size < 2 || size < 2 + (size_t)(data[1] & 7) * 3)
		return 0;
	unsigned changes = data[1] & 7;
	by = (struct visit){data + 2 + changes * 3, size - 2 - changes * 3, data[0], NULL};
	if (scans_new(&by.scans, &account, 1) != 0)
		abort();
	visit_twice(&by, &account);
	if (changes && account.built)
		visit_changed(&by, data + 2, changes);
	scans_free(by.scans);
	return 0;
}
