// SPDX-License-Identifier: MIT
/*
 * TIFF by libtiff: the first page, in strips or tiles, in the forms of tiff_form.h. Only the blocks
 * that hold the needed part are decoded, all of a file that is not known to be sound.
 *
 * libtiff cannot be stopped within a block. What a block can take is bounded by its pixels, which
 * have the limit of a picture's.
 */
#include "decode/tiff.h"

#include <errno.h>
#include <string.h>

#include "decode/arena.h"
#include "decode/cmyk.h"
#include "decode/exif.h"
#include "decode/foreign.h"
#include "decode/limits.h"
#include "decode/tiff_file.h"
#include "decode/tiff_form.h"

struct tiff {
	TIFF *file;
	struct tiff_file source;
	int32_t width, height;
	uint16_t orientation;
	struct tiff_form form;
	bool mask;			    /* numbers are asked for */
	struct image_form wide;		    /* wide pixels are */
	uint32_t block_width, block_height; /* of a strip or tile */
};

/* --- header --- */

static int tiff_corrupt(const struct tiff *tiff, struct fault *fault)
{
	return fault_say(fault, DECODE_E_CORRUPT, "TIFF: damaged or cut short%s%s",
			 tiff->source.words[0] ? ": " : "", tiff->source.words);
}

static int tiff_no_memory(struct fault *fault)
{
	return fault_say(fault, -ENOMEM, "out of memory while decoding");
}

static int tiff_take_blocks(struct tiff *tiff, const struct codec_input *input, struct fault *fault)
{
	tiff->block_width = (uint32_t)tiff->width;
	if (TIFFIsTiled(tiff->file)) {
		TIFFGetField(tiff->file, TIFFTAG_TILEWIDTH, &tiff->block_width);
		TIFFGetField(tiff->file, TIFFTAG_TILELENGTH, &tiff->block_height);
		return tiff->wide.type ? limits_check_form(&input->limits, tiff->block_width,
							   tiff->block_height, tiff->wide, fault)
				       : limits_check_size(&input->limits, tiff->block_width,
							   tiff->block_height, fault);
	}
	TIFFGetFieldDefaulted(tiff->file, TIFFTAG_ROWSPERSTRIP, &tiff->block_height);
	if (tiff->block_height > (uint32_t)tiff->height)
		tiff->block_height = (uint32_t)tiff->height;
	return tiff->block_height ? 0 : tiff_corrupt(tiff, fault);
}

/* Read the orientation; the first of several counts, where libtiff passes over them. */
static uint16_t tiff_orientation(const struct tiff_file *source, TIFF *file)
{
	uint16_t orientation;
	uint32_t size = 0, first;
	void *text = NULL;
	if (TIFFGetField(file, TIFFTAG_ORIENTATION, &orientation))
		return orientation;
	if (tiff_file_tag(source, TIFFTAG_ORIENTATION, &first))
		return first <= 8 ? (uint16_t)first : 1;
	if (!TIFFGetField(file, TIFFTAG_XMLPACKET, &size, &text))
		return 1;
	struct metadata found = {.xmp = text, .xmp_size = size};
	return (uint16_t)metadata_orientation(&found);
}

static int tiff_open(struct tiff *tiff, const struct codec_input *input, struct fault *fault)
{
	uint32_t width = 0, height = 0;
	*tiff = (struct tiff){0};
	tiff->file = tiff_file_open(&tiff->source, input->data, input->size, input->arena);
	if (!tiff->file)
		return tiff_corrupt(tiff, fault);
	TIFFGetField(tiff->file, TIFFTAG_IMAGEWIDTH, &width);
	TIFFGetField(tiff->file, TIFFTAG_IMAGELENGTH, &height);
	int r = limits_check_size(&input->limits, width, height, fault);
	tiff->mask = input->mask;
	tiff->width = (int32_t)width;
	tiff->height = (int32_t)height;
	tiff->orientation = tiff_orientation(&tiff->source, tiff->file);
	if (r == 0)
		r = input->form.type
			    ? tiff_form_read_wide(&tiff->form, input, tiff->file, fault)
			    : tiff_form_read(&tiff->form, &tiff->source, tiff->file, fault);
	if (r == 0 && input->form.type)
		tiff->wide = (struct image_form){input->form.type, tiff->form.samples};
	if (r == 0 && input->form.type) /* before a block of so many samples is decoded */
		r = limits_check_form(&input->limits, width, height, tiff->wide, fault);
	if (r == 0)
		r = tiff_take_blocks(tiff, input, fault);
	if (r)
		TIFFClose(tiff->file);
	return r;
}

/* --- rows --- */

/* A sample of 8 bits or more, as 8: of 16 the upper ones. */
static uint8_t sample8(const struct tiff *tiff, const uint8_t *pixel, unsigned number)
{
	uint16_t wide;
	if (tiff->form.bits == 8)
		return pixel[number];
	memcpy(&wide, pixel + number * 2, sizeof(wide));
	return (uint8_t)(wide >> 8);
}

static unsigned small_sample(const struct tiff *tiff, const uint8_t *row, size_t x)
{
	size_t bit = x * tiff->form.bits;
	return row[bit >> 3] >> (8 - tiff->form.bits - (bit & 7)) & ((1u << tiff->form.bits) - 1);
}

/* A sample of 12 or 16 bits. */
static int32_t wide_sample(const struct tiff *tiff, const uint8_t *row, size_t x)
{
	uint16_t wide;
	size_t bit = x * 12;
	if (tiff->form.bits == 12)
		return (row[bit >> 3] << 8 | row[(bit >> 3) + 1]) >> (4 - (bit & 7)) & 0xFFF;
	memcpy(&wide, row + x * 2, sizeof(wide));
	return tiff->form.is_signed ? (int16_t)wide : wide;
}

static void put_grey(const struct tiff *tiff, const uint8_t *row, size_t x, uint8_t *out)
{
	unsigned value, last = tiff->mask && tiff->form.bits == 1 ? 1 : 255;
	if (tiff->form.bits > 8) { /* clipped, as Pillow does */
		int32_t wide = wide_sample(tiff, row, x);
		memset(out, wide > 255 ? 255 : wide < 0 ? 0 : wide, 3);
		if (tiff->mask && wide < 0)
			codec_put_none(out);
		else if (tiff->mask)
			codec_put_number(out, (uint16_t)wide);
		return;
	}
	value = tiff->form.bits == 8
			? row[x * tiff->form.samples]
			: small_sample(tiff, row, x) * last / ((1u << tiff->form.bits) - 1);
	memset(out, (int)(tiff->form.inverted ? last - value : value), 3);
}

static void put_palette(const struct tiff *tiff, const uint8_t *row, size_t x, uint8_t *out)
{
	unsigned index =
		tiff->form.bits == 8 ? row[x * tiff->form.samples] : small_sample(tiff, row, x);
	if (tiff->mask)
		memset(out, (int)index, 3);
	for (int c = 0; c < 3 && !tiff->mask; c++)
		out[c] = (uint8_t)(tiff->form.palette[c][index] >> 8);
}

static void put_rgb(const struct tiff *tiff, const uint8_t *pixel, uint8_t *out)
{
	unsigned alpha = tiff->form.premultiplied ? sample8(tiff, pixel, 3) : 255;
	for (unsigned c = 0; c < 3; c++) {
		unsigned value = sample8(tiff, pixel, c);
		if (alpha != 255)
			value = alpha ? value * 255 / alpha : 0;
		out[c] = (uint8_t)(value > 255 ? 255 : value);
	}
}

static void put_cmyk(const struct tiff *tiff, const uint8_t *pixel, uint8_t *out)
{
	uint8_t inks[4];
	for (unsigned c = 0; c < 4; c++)
		inks[c] = 255 - sample8(tiff, pixel, c);
	cmyk_to_rgb(inks, out, 1);
}

/* Sample `at` of a row, as it is stored. */
static float number_at(const struct tiff *tiff, const uint8_t *row, size_t at)
{
	const struct tiff_form *form = &tiff->form;
	uint16_t half;
	uint32_t word;
	float single;
	double number;
	if (form->bits == 12)
		return (float)wide_sample(tiff, row, at);
	row += at * (form->bits / 8);
	if (form->bits == 16) {
		memcpy(&half, row, sizeof(half));
		return form->format == SAMPLEFORMAT_INT ? (float)(int16_t)half : (float)half;
	}
	if (form->bits == 64) {
		memcpy(&number, row, sizeof(number));
		return (float)number;
	}
	memcpy(&word, row, sizeof(word));
	memcpy(&single, row, sizeof(single));
	return form->format == SAMPLEFORMAT_IEEEFP ? single
	       : form->format == SAMPLEFORMAT_INT  ? (float)(int32_t)word
						   : (float)word;
}

/* As tiff_row(), of wide pixels. */
static void wide_row(const struct tiff *tiff, const uint8_t *row, size_t x, size_t count,
		     uint8_t *out)
{
	const size_t first = x * tiff->form.samples;
	for (size_t i = 0; i < count * tiff->form.samples; i++)
		codec_put(tiff->wide.type, out, i, number_at(tiff, row, first + i));
}

/* `count` pixels of a row of a block, from `x` on. */
static void tiff_row(const struct tiff *tiff, const uint8_t *row, size_t x, size_t count,
		     bool alpha, uint8_t *out)
{
	size_t step = (size_t)tiff->form.samples * (tiff->form.bits / 8);
	if (tiff->wide.type) {
		wide_row(tiff, row, x, count, out);
		return;
	}
	for (size_t i = x; i < x + count; i++, out += 3) {
		if (alpha)
			memset(out,
			       sample8(tiff, row + i * step,
				       tiff->form.colours == TIFF_RGB ? 3 : 1),
			       3);
		else if (tiff->form.colours == TIFF_GREY)
			put_grey(tiff, row, i, out);
		else if (tiff->form.colours == TIFF_PALETTE)
			put_palette(tiff, row, i, out);
		else if (tiff->mask && tiff->form.bits == 16)
			codec_put_none(out);
		else if (tiff->form.colours == TIFF_RGB)
			put_rgb(tiff, row + i * step, out);
		else
			put_cmyk(tiff, row + i * step, out);
	}
}

/* --- blocks --- */

/* The memory that blocks are decoded to. */
struct tiff_block {
	size_t stride, bytes; /* of a plane, or of the pixels */
	uint8_t *pixels;      /* samples of a pixel together */
	size_t pixel_stride;
	uint8_t *plane; /* of separate ones */
};

static int block_new(struct tiff_block *block, const struct tiff *tiff, struct arena *arena,
		     struct fault *fault)
{
	bool tiled = TIFFIsTiled(tiff->file);
	tmsize_t stride = tiled ? TIFFTileRowSize(tiff->file) : TIFFScanlineSize(tiff->file);
	tmsize_t bytes = tiled ? TIFFTileSize(tiff->file) : TIFFStripSize(tiff->file);
	unsigned samples = tiff->form.separate ? 1 : tiff->form.samples;
	uint64_t least = ((uint64_t)tiff->block_width * samples * tiff->form.bits + 7) / 8;
	if (stride <= 0 || bytes <= 0 || (uint64_t)stride != least ||
	    (uint64_t)bytes / tiff->block_height < least)
		return tiff_corrupt(tiff, fault);
	block->stride = block->pixel_stride = (size_t)stride;
	block->bytes = (size_t)bytes;
	block->plane = NULL;
	if (tiff->form.separate) {
		block->plane = arena_take(arena, block->bytes);
		block->pixel_stride = block->stride * tiff->form.samples;
	}
	block->pixels = arena_take(arena, block->pixel_stride * tiff->block_height);
	return block->pixels && (!tiff->form.separate || block->plane) ? 0 : tiff_no_memory(fault);
}

static int block_decode(const struct tiff *tiff, uint32_t x, uint32_t y, unsigned sample,
			uint8_t *out, size_t bytes, struct fault *fault)
{
	tmsize_t done;
	memset(out, 0, bytes);
	if (TIFFIsTiled(tiff->file))
		done = TIFFReadEncodedTile(tiff->file,
					   TIFFComputeTile(tiff->file, x, y, 0, (uint16_t)sample),
					   out, (tmsize_t)bytes);
	else
		done = TIFFReadEncodedStrip(tiff->file,
					    TIFFComputeStrip(tiff->file, y, (uint16_t)sample), out,
					    (tmsize_t)bytes);
	return done < 0 ? tiff_corrupt(tiff, fault) : 0;
}

/* Put a plane's samples between those of the others. */
static void block_interleave(const struct tiff *tiff, struct tiff_block *block, unsigned sample)
{
	size_t width = tiff->form.bits / 8;
	for (uint32_t y = 0; y < tiff->block_height; y++) {
		const uint8_t *from = block->plane + y * block->stride;
		uint8_t *to = block->pixels + y * block->pixel_stride + sample * width;
		for (uint32_t x = 0; x < tiff->block_width; x++)
			memcpy(to + x * width * tiff->form.samples, from + x * width, width);
	}
}

/* The block whose first pixel is (x, y). */
static int block_read(const struct tiff *tiff, struct tiff_block *block, uint32_t x, uint32_t y,
		      struct fault *fault)
{
	if (!tiff->form.separate)
		return block_decode(tiff, x, y, 0, block->pixels, block->bytes, fault);
	for (unsigned sample = 0; sample < tiff->form.samples; sample++) {
		int r = block_decode(tiff, x, y, sample, block->plane, block->bytes, fault);
		if (r)
			return r;
		block_interleave(tiff, block, sample);
	}
	return 0;
}

/* Copy the part of the block that is needed. */
static void block_show(const struct tiff *tiff, const struct tiff_block *block, int32_t x,
		       int32_t y, const struct image *out, uint8_t *pixels, bool alpha)
{
	struct rect need = out->area;
	int32_t left = x > need.x ? x : need.x, top = y > need.y ? y : need.y;
	int64_t right = (int64_t)x + tiff->block_width, bottom = (int64_t)y + tiff->block_height;
	if (right > need.x + need.width)
		right = need.x + need.width;
	if (bottom > need.y + need.height)
		bottom = need.y + need.height;
	for (int32_t row = top; row < bottom && left < right; row++)
		tiff_row(tiff, block->pixels + (size_t)(row - y) * block->pixel_stride,
			 (size_t)(left - x), (size_t)(right - left), alpha,
			 pixels + (size_t)(row - need.y) * out->stride +
				 (size_t)(left - need.x) * image_pixel_bytes(tiff->wide));
}

static bool block_touches(const struct tiff *tiff, int64_t x, int64_t y, struct rect need)
{
	return x < need.x + need.width && x + tiff->block_width > need.x &&
	       y < need.y + need.height && y + tiff->block_height > need.y;
}

static int tiff_read_blocks(const struct tiff *tiff, const struct codec_input *input,
			    const struct image *out, uint8_t *pixels, struct fault *fault)
{
	struct tiff_block block = {0};
	int r = block_new(&block, tiff, input->arena, fault);
	for (int64_t y = 0; y < tiff->height && !r; y += tiff->block_height) {
		for (int64_t x = 0; x < tiff->width && !r; x += tiff->block_width) {
			if (input->sound && !block_touches(tiff, x, y, out->area))
				continue;
			r = limits_check_time(&input->limits, input->start_ns, fault);
			if (!r)
				r = block_read(tiff, &block, (uint32_t)x, (uint32_t)y, fault);
			if (!r)
				block_show(tiff, &block, (int32_t)x, (int32_t)y, out, pixels,
					   input->alpha);
		}
	}
	return r;
}

/* --- pixels that libtiff makes RGBA of --- */

/* Block by block from the first on, since libtiff takes rows in order. */
static int rgba_read_blocks(const struct tiff *tiff, TIFFRGBAImage *rgba, uint32_t *raster,
			    const struct codec_input *input, const struct image *out,
			    uint8_t *pixels, struct fault *fault)
{
	struct rect need = out->area;
	for (int64_t y = 0; y < tiff->height; y += tiff->block_height) {
		int64_t rows = tiff->height - y < tiff->block_height ? tiff->height - y
								     : tiff->block_height;
		int r = limits_check_time(&input->limits, input->start_ns, fault);
		if (r)
			return r;
		rgba->row_offset = (int)y;
		/* What is damaged is passed over, as Pillow has it: black, not what was there. */
		memset(raster, 0, (size_t)tiff->width * (size_t)rows * sizeof(*raster));
		if (!TIFFRGBAImageGet(rgba, raster, (uint32_t)tiff->width, (uint32_t)rows))
			return tiff_corrupt(tiff, fault);
		for (int64_t row = y; row < y + rows; row++) {
			if (row < need.y || row >= need.y + need.height)
				continue;
			const uint32_t *from = raster + (row - y) * tiff->width + need.x;
			uint8_t *to = pixels + (size_t)(row - need.y) * out->stride;
			for (int32_t x = 0; x < need.width; x++, to += 3) {
				to[0] = (uint8_t)TIFFGetR(from[x]);
				to[1] = (uint8_t)TIFFGetG(from[x]);
				to[2] = (uint8_t)TIFFGetB(from[x]);
			}
		}
	}
	return 0;
}

static int tiff_read_rgba(const struct tiff *tiff, const struct codec_input *input,
			  const struct image *out, uint8_t *pixels, struct fault *fault)
{
	TIFFRGBAImage rgba;
	char words[1024]; /* as long as libtiff takes it to be */
	size_t bytes = (size_t)tiff->width * tiff->block_height * sizeof(uint32_t);
	uint32_t *raster = arena_take(input->arena, bytes);
	if (!raster)
		return tiff_no_memory(fault);
	if (!TIFFRGBAImageOK(tiff->file, words) || !TIFFRGBAImageBegin(&rgba, tiff->file, 0, words))
		return tiff_corrupt(tiff, fault);
	rgba.orientation = rgba.req_orientation = ORIENTATION_TOPLEFT;
	int r = rgba_read_blocks(tiff, &rgba, raster, input, out, pixels, fault);
	TIFFRGBAImageEnd(&rgba);
	return r;
}

/* --- the codec --- */

static bool tiff_accepts(const uint8_t *data, size_t size)
{
	const char *name = foreign_name(data, size);
	return name && strcmp(name, "TIFF") == 0;
}

/* Pillow turns a TIFF whenever it loads one, whether EXIF is asked for or not. */
static struct codec_header tiff_header(const struct tiff *tiff)
{
	bool turned = tiff->orientation >= 1 && tiff->orientation <= 8;
	return (struct codec_header){
		.width = tiff->width,
		.height = tiff->height,
		.orientation = turned ? tiff->orientation : 1u,
		.alpha = tiff->form.alpha,
		.inks = tiff->form.colours == TIFF_CMYK,
		.clips = tiff->form.colours == TIFF_GREY && tiff->form.bits > 8,
		.form = tiff->wide,
	};
}

static int tiff_begin(void *state, const struct codec_input *input, struct codec_header *out,
		      struct fault *fault)
{
	struct tiff tiff;
	(void)state;
	int r = tiff_open(&tiff, input, fault);
	if (r)
		return r;
	*out = tiff_header(&tiff);
	TIFFClose(tiff.file);
	return 0;
}

static int tiff_read(void *state, const struct codec_input *input, struct rect need,
		     struct buffer *pixels, struct image *out, struct fault *fault)
{
	struct tiff tiff;
	struct image shown;
	(void)state;
	arena_reset(input->arena);
	int r = tiff_open(&tiff, input, fault);
	if (r)
		return r;
	struct codec_header header = tiff_header(&tiff);
	r = codec_reserve(&header, need, pixels, &shown) ? tiff_no_memory(fault)
	    : tiff.form.colours == TIFF_YCBCR
		    ? tiff_read_rgba(&tiff, input, &shown, pixels->data, fault)
		    : tiff_read_blocks(&tiff, input, &shown, pixels->data, fault);
	TIFFClose(tiff.file);
	if (r == 0)
		*out = shown;
	return r;
}

const struct codec codec_tiff = {
	.name = "TIFF",
	.wide = true,
	.accepts = tiff_accepts,
	.begin = tiff_begin,
	.read = tiff_read,
};
