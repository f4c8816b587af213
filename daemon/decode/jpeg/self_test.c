// SPDX-License-Identifier: MIT
/*
 * decoder_self_test(): small pictures, encoded here by libjpeg, are decoded by the seek index
 * (indexed_decode.h) and without it; the pixels must be the same. Once, before workers start.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdio.h> /* jpeglib.h needs it */
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "decode/decode.h"
#include "decode/jpeg/indexed_decode.h"
#include "decode/jpeg/seek_index_set.h"

#define WIDTH 331
#define HEIGHT 77
#define ROOM (WIDTH * HEIGHT * 3) /* more than any of the JPEGs takes */

struct maker {
	struct jpeg_compress_struct cinfo;
	struct jpeg_error_mgr error;
	jmp_buf back;
	unsigned char *data; /* free() */
	unsigned long size;
};

static void on_error(j_common_ptr cinfo)
{
	struct maker *maker = cinfo->client_data;
	longjmp(maker->back, 1);
}

static void make_rows(struct jpeg_compress_struct *cinfo)
{
	JSAMPLE row[WIDTH * 3];
	uint32_t noise = 1;
	for (int y = 0; y < HEIGHT; y++) {
		for (int i = 0; i < WIDTH * 3; i++) {
			noise = noise * 1664525u + 1013904223u;
			row[i] = (JSAMPLE)(i * (i % 3 + 1) / 4 + y * 3 + (noise >> 27));
		}
		JSAMPROW rows[1] = {row};
		jpeg_write_scanlines(cinfo, rows, 1);
	}
}

/* Encode a picture with these sampling factors of the first component; 0, 0: a grey one. */
static bool make(struct maker *maker, int h, int v)
{
	struct jpeg_compress_struct *cinfo = &maker->cinfo;
	*maker = (struct maker){.data = malloc(ROOM), .size = ROOM};
	if (!maker->data)
		return false;
	cinfo->err = jpeg_std_error(&maker->error);
	maker->error.error_exit = on_error;
	cinfo->client_data = maker;
	if (setjmp(maker->back)) {
		jpeg_destroy_compress(cinfo);
		return false;
	}
	jpeg_create_compress(cinfo);
	/* Enough memory from the start: libjpeg would tell `data` of a larger one only at the end.
	 */
	jpeg_mem_dest(cinfo, &maker->data, &maker->size);
	cinfo->image_width = WIDTH;
	cinfo->image_height = HEIGHT;
	cinfo->input_components = h ? 3 : 1;
	cinfo->in_color_space = h ? JCS_RGB : JCS_GRAYSCALE;
	jpeg_set_defaults(cinfo);
	jpeg_set_quality(cinfo, 80, TRUE);
	cinfo->comp_info[0].h_samp_factor = h ? h : 1;
	cinfo->comp_info[0].v_samp_factor = v ? v : 1;
	jpeg_start_compress(cinfo, TRUE);
	make_rows(cinfo);
	jpeg_finish_compress(cinfo);
	jpeg_destroy_compress(cinfo);
	return true;
}

/* Decode a part to packed pixels; false on any failure. */
static bool read_part(const struct maker *maker, const struct decode_origin *origin,
		      struct rect need, uint8_t *out)
{
	struct decoder *decoder;
	struct image image;
	struct fault ignored;
	int32_t width, height;
	if (decoder_new(&decoder) != 0)
		return false;
	int r = decoder_begin(decoder, maker->data, maker->size, &DECODE_LIMITS_DEFAULT, false,
			      &width, &height, &ignored);
	if (r == 0)
		decoder_set_origin(decoder, origin);
	r = r ? r : decoder_read(decoder, need, &image, &ignored);
	for (int32_t y = 0; r == 0 && y < need.height; y++) {
		const uint8_t *row = image.pixels +
				     (size_t)(need.y + y - image.area.y) * image.stride +
				     (size_t)(need.x - image.area.x) * 3;
		memcpy(out + (size_t)y * (size_t)need.width * 3, row, (size_t)need.width * 3);
	}
	decoder_free(decoder);
	return r == 0;
}

static bool part_is_equal(const struct maker *maker, struct seek_index_set *set, struct rect need)
{
	const struct decode_origin nowhere = DECODE_ORIGIN_NULL;
	const struct decode_origin origin = {.seek_indexes = set};
	size_t size = (size_t)need.width * 3 * (size_t)need.height;
	uint8_t *plain = malloc(size), *entered = malloc(size);
	bool equal = plain && entered && read_part(maker, &nowhere, need, plain) &&
		     read_part(maker, &origin, need, entered) && memcmp(plain, entered, size) == 0;
	free(plain);
	free(entered);
	return equal;
}

static bool picture_is_equal(int h, int v)
{
	static const struct rect parts[] = {
		{0, 0, WIDTH, HEIGHT}, {290, 37, 41, 33}, {171, 9, 60, 68}, {7, 50, 200, 1}};
	struct seek_index_budget account = {.limit = 1 << 20};
	struct seek_index_set *set;
	struct maker maker;
	if (!make(&maker, h, v) || seek_index_set_new(&set, &account, NULL, 1) != 0) {
		free(maker.data);
		return false;
	}
	bool equal = true;
	for (size_t i = 0; equal && i < sizeof(parts) / sizeof(*parts); i++)
		equal = part_is_equal(&maker, set, parts[i]);
	equal = equal && account.built == 1 && account.used == 3 &&
		account.refused[SEEK_INDEX_E_INDEX] == 0;
	seek_index_set_free(set);
	free(maker.data);
	return equal;
}

int decoder_self_test(struct fault *fault)
{
	if (!indexed_decode_built_in)
		return fault_say(fault, DECODE_E_UNSUPPORTED,
				 "stokerd was built without libjpeg-turbo's jpegint.h: rebuild it "
				 "with that");
	if (picture_is_equal(2, 2) && picture_is_equal(2, 1) && picture_is_equal(1, 1) &&
	    picture_is_equal(0, 0))
		return 0;
	return fault_say(
		fault, DECODE_E_UNSUPPORTED,
		"the seek index was not seen to give the installed libjpeg's pixels: it is "
		"another libjpeg than stokerd was built for, or memory is short");
}
