// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/test.h"

#include <jpeglib.h>
#include <spng.h>
#include <webp/encode.h>

#include "tests/unit/pictures.h"

uint8_t *pixels_make(int width, int height, int channels)
{
	uint8_t *pixels = malloc((size_t)width * height * channels);
	uint32_t noise = 12345;
	assert_non_null(pixels);
	for (int y = 0; y < height; y++)
		for (int x = 0; x < width; x++)
			for (int c = 0; c < channels; c++) {
				noise = noise * 1664525u + 1013904223u;
				int soft = 3 * x * (c + 1) + 5 * y - (x * y >> 3) + 60 * c;
				pixels[((size_t)y * width + x) * channels + c] =
					(uint8_t)(soft + (noise >> 28));
			}
	return pixels;
}

static void jpeg_describe(struct jpeg_compress_struct *cinfo, const struct jpeg_recipe *recipe)
{
	static jpeg_scan_info scans[4];
	int components = abs(recipe->components);
	cinfo->image_width = (JDIMENSION)recipe->width;
	cinfo->image_height = (JDIMENSION)recipe->height;
	cinfo->input_components = components;
	cinfo->in_color_space = components == 1	  ? JCS_GRAYSCALE
				: components == 3 ? JCS_RGB
						  : JCS_CMYK;
	jpeg_set_defaults(cinfo);
	if (recipe->components == 4)
		jpeg_set_colorspace(cinfo, JCS_YCCK);
	else if (recipe->components < 0)
		jpeg_set_colorspace(cinfo, cinfo->in_color_space);
	jpeg_set_quality(cinfo, 85, TRUE);
	for (int i = 0; i < components; i++) {
		bool full = i == 0 || i == 3;
		cinfo->comp_info[i].h_samp_factor = full ? recipe->h : 1;
		cinfo->comp_info[i].v_samp_factor = full ? recipe->v : 1;
		scans[i] = (jpeg_scan_info){1, {i}, 0, 63, 0, 0};
	}
	if (recipe->way == JPEG_PROGRESSIVE)
		jpeg_simple_progression(cinfo);
	if (recipe->way == JPEG_SEPARATE) {
		cinfo->scan_info = scans;
		cinfo->num_scans = components;
	}
	if (recipe->way == JPEG_RESTARTS)
		cinfo->restart_interval = 2;
	cinfo->arith_code = recipe->way == JPEG_ARITHMETIC;
}

struct picture picture_jpeg(const struct jpeg_recipe *recipe)
{
	struct jpeg_compress_struct cinfo;
	struct jpeg_error_mgr error;
	unsigned char *data = NULL;
	unsigned long size = 0;
	int channels = abs(recipe->components);
	uint8_t *pixels = pixels_make(recipe->width, recipe->height, channels);
	cinfo.err = jpeg_std_error(&error);
	jpeg_create_compress(&cinfo);
	jpeg_mem_dest(&cinfo, &data, &size);
	jpeg_describe(&cinfo, recipe);
	jpeg_start_compress(&cinfo, TRUE);
	while (cinfo.next_scanline < cinfo.image_height) {
		JSAMPROW row = pixels + (size_t)cinfo.next_scanline * recipe->width * channels;
		jpeg_write_scanlines(&cinfo, &row, 1);
	}
	jpeg_finish_compress(&cinfo);
	jpeg_destroy_compress(&cinfo);
	free(pixels);
	return (struct picture){data, size};
}

static void cmyk_to_rgb(const uint8_t *from, uint8_t *to, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (int c = 0; c < 3; c++) {
			int ink = 255 - from[4 * i + c], white = from[4 * i + 3];
			int covered = ink * white + 128;
			covered = ((covered >> 8) + covered) >> 8;
			to[3 * i + c] = (uint8_t)(white > covered ? white - covered : 0);
		}
}

uint8_t *jpeg_plain(const struct picture *picture)
{
	struct jpeg_decompress_struct cinfo;
	struct jpeg_error_mgr error;
	cinfo.err = jpeg_std_error(&error);
	jpeg_create_decompress(&cinfo);
	jpeg_mem_src(&cinfo, picture->data, picture->size);
	assert_int_equal(jpeg_read_header(&cinfo, TRUE), JPEG_HEADER_OK);
	bool cmyk = cinfo.num_components == 4;
	cinfo.out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
	jpeg_start_decompress(&cinfo);
	size_t width = cinfo.output_width, count = width * cinfo.output_height;
	uint8_t *pixels = malloc(count * (cmyk ? 4 : 3));
	assert_non_null(pixels);
	while (cinfo.output_scanline < cinfo.output_height) {
		JSAMPROW row = pixels + cinfo.output_scanline * width * (cmyk ? 4 : 3);
		jpeg_read_scanlines(&cinfo, &row, 1);
	}
	jpeg_finish_decompress(&cinfo);
	jpeg_destroy_decompress(&cinfo);
	if (cmyk)
		cmyk_to_rgb(pixels, pixels, count);
	return pixels;
}

size_t jpeg_find(const struct picture *picture, uint8_t marker)
{
	for (size_t at = 2; at + 4 <= picture->size && picture->data[at] == 0xFF;) {
		if (picture->data[at + 1] == marker)
			return at + 2;
		at += 2 + (size_t)(picture->data[at + 2] << 8 | picture->data[at + 3]);
	}
	fail_msg("no marker 0x%02X", marker);
	return 0;
}

void jpeg_claim(struct picture *picture, unsigned width, unsigned height)
{
	bool progressive = memmem(picture->data, picture->size, "\xFF\xC2", 2) != NULL;
	uint8_t *frame = picture->data + jpeg_find(picture, progressive ? 0xC2 : 0xC0);
	frame[3] = (uint8_t)(height >> 8);
	frame[4] = (uint8_t)height;
	frame[5] = (uint8_t)(width >> 8);
	frame[6] = (uint8_t)width;
}

struct picture picture_png(int width, int height, int color_type, int depth, bool interlaced)
{
	static const int channels_of[] = {1, 0, 3, 1, 2, 0, 4};
	struct spng_ihdr header = {.width = (uint32_t)width,
				   .height = (uint32_t)height,
				   .bit_depth = (uint8_t)depth,
				   .color_type = (uint8_t)color_type,
				   .interlace_method = interlaced};
	size_t row = ((size_t)width * channels_of[color_type] * depth + 7) / 8;
	uint8_t *pixels = pixels_make((int)row, height, 1);
	struct picture picture = {NULL, 0};
	spng_ctx *ctx = spng_ctx_new(SPNG_CTX_ENCODER);
	int r = spng_set_option(ctx, SPNG_ENCODE_TO_BUFFER, 1);
	assert_int_equal(r | spng_set_ihdr(ctx, &header), 0);
	if (color_type == SPNG_COLOR_TYPE_INDEXED) {
		struct spng_plte palette = {.n_entries = 1u << depth};
		for (unsigned i = 0; i < palette.n_entries; i++)
			palette.entries[i].red = palette.entries[i].blue = (uint8_t)(255 - i);
		assert_int_equal(spng_set_plte(ctx, &palette), 0);
	}
	assert_int_equal(spng_encode_image(ctx, pixels, row * (size_t)height, SPNG_FMT_PNG,
					   SPNG_ENCODE_FINALIZE),
			 0);
	picture.data = spng_get_png_buffer(ctx, &picture.size, &r);
	assert_non_null(picture.data);
	spng_ctx_free(ctx);
	free(pixels);
	return picture;
}

struct picture picture_webp(int width, int height, bool lossless)
{
	uint8_t *pixels = pixels_make(width, height, 3);
	uint8_t *data = NULL;
	size_t size = lossless ? WebPEncodeLosslessRGB(pixels, width, height, width * 3, &data)
			       : WebPEncodeRGB(pixels, width, height, width * 3, 60, &data);
	assert_true(size > 0);
	/* Freed by free() like the others, whatever libwebp allocates with. */
	struct picture picture = {malloc(size), size};
	assert_non_null(picture.data);
	memcpy(picture.data, data, size);
	WebPFree(data);
	free(pixels);
	return picture;
}

struct picture picture_bytes(const char *text)
{
	struct picture picture = {(uint8_t *)strdup(text), strlen(text)};
	assert_non_null(picture.data);
	return picture;
}

int32_t random_below(int32_t bound)
{
	static uint32_t state = 1;
	state = state * 1664525u + 1013904223u;
	return (int32_t)((uint64_t)state * (uint32_t)bound >> 32);
}

struct rect random_rect(int32_t width, int32_t height)
{
	struct rect rect = {random_below(width), random_below(height), 0, 0};
	rect.width = 1 + random_below(width - rect.x);
	rect.height = 1 + random_below(height - rect.y);
	return rect;
}
