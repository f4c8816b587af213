// SPDX-License-Identifier: MIT
/*
 * Rows are decoded one by one as they are stored (of an interlaced picture: the rows of its seven
 * passes) and converted from there, so that one row is held beside the pixels.
 *
 * What is damaged is decided as in Pillow. Of the compressed pixels libspng says it, in one pass
 * over all rows, in which their checksum counts; of the chunks png_file.h. Where libspng refuses a
 * file, perhaps for its chunks, it gets the pixels alone.
 */
#include "decode/png.h"

#include <errno.h>
#include <string.h>

#include <spng.h>

#include "base/quote.h"
#include "decode/arena.h"
#include "decode/limits.h"
#include "decode/png_file.h"
#include "decode/png_orientation.h"

#define CHUNK_BYTES ((size_t)16 << 20) /* of one profile or text, unpacked */
#define CACHE_BYTES ((size_t)64 << 20) /* of all of them */
#define ROW_BYTES ((uint64_t)64 << 20) /* of one stored row: the library holds several */
#define ROWS_PER_CHECK 64	       /* rows decoded between two checks of the time */

/* The pixel grid of each pass of an interlaced picture, and last that of a plain one. */
struct pass {
	uint8_t x, y, step_x, step_y;
};
static const struct pass passes[] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
				     {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}, {0, 0, 1, 1}};
#define PASS_PLAIN 7

/*
 * libspng's memory. Its hooks have no context argument, so a thread-local has the arena of the call
 * that this thread makes; and realloc() is not told the old size, so each piece begins with its
 * size.
 */
#define PIECE_HEAD ARENA_ALIGN
static _Thread_local struct arena *png_arena;

static size_t *piece_size(void *memory)
{
	return (size_t *)(void *)((uint8_t *)memory - PIECE_HEAD);
}

static void *piece_realloc(void *memory, size_t size)
{
	if (size > SIZE_MAX - PIECE_HEAD)
		return NULL;
	size_t *old = memory ? piece_size(memory) : NULL;
	size_t *piece = arena_grow(png_arena, old, old ? *old : 0, size + PIECE_HEAD);
	if (!piece)
		return NULL;
	*piece = size + PIECE_HEAD;
	return (uint8_t *)piece + PIECE_HEAD;
}

static void *piece_malloc(size_t size)
{
	return piece_realloc(NULL, size);
}

static void *piece_calloc(size_t count, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	void *memory = piece_malloc(bytes);
	return memory ? memset(memory, 0, bytes) : NULL;
}

static void piece_free(void *memory)
{
	if (memory)
		arena_give(png_arena, piece_size(memory), *piece_size(memory));
}

struct png;

/*
 * Convert the stored pixels [first, first + count) of a row to RGB pixels `step` bytes apart, as
 * Pillow does: alpha is dropped, or alone is given; of 16 bits the high byte counts, but grey of 16
 * bits without alpha is an integer, clipped to 255. Or to wide pixels, all channels as they are.
 */
typedef void row_convert(const struct png *png, const uint8_t *row, size_t first, size_t count,
			 uint8_t *to, size_t step);

struct png {
	const struct codec_input *input;
	struct spng_ihdr header;
	unsigned channels;
	row_convert *convert;
	uint8_t palette[256][3]; /* or the alpha of each of its colours */
	uint8_t key[3];		 /* the colour that is transparent */
};

static int png_fault(struct fault *fault, int code)
{
	switch (code) {
	case SPNG_EMEM:
		return fault_say(fault, -ENOMEM, "out of memory while decoding");
	case SPNG_ECHUNK_LIMITS:
		return fault_say(fault, DECODE_E_LIMIT,
				 "PNG: a profile or text of more than %s bytes, or more than %s "
				 "bytes of them",
				 quote_number(CHUNK_BYTES).text, quote_number(CACHE_BYTES).text);
	case SPNG_IO_EOF:
		return fault_say(fault, DECODE_E_CORRUPT, "PNG: the file is cut short");
	default:
		return fault_say(fault, DECODE_E_CORRUPT, "PNG: %s", spng_strerror(code));
	}
}

static unsigned channels_of(uint8_t color_type)
{
	switch (color_type) {
	case SPNG_COLOR_TYPE_GRAYSCALE_ALPHA:
		return 2;
	case SPNG_COLOR_TYPE_TRUECOLOR:
		return 3;
	case SPNG_COLOR_TYPE_TRUECOLOR_ALPHA:
		return 4;
	default:
		return 1;
	}
}

/* Less than a byte a pixel: grey over the full range, or places in the palette. */
static void row_of_bits(const struct png *png, const uint8_t *row, size_t first, size_t count,
			uint8_t *to, size_t step)
{
	unsigned depth = png->header.bit_depth;
	unsigned mask = (1u << depth) - 1;
	bool index = png->header.color_type == SPNG_COLOR_TYPE_INDEXED;
	unsigned scale = index || (depth == 1 && png->input->mask) ? 1 : 255 / mask;
	for (size_t at = first * depth; count > 0; count--, at += depth, to += step) {
		unsigned value = row[at / 8] >> (8 - depth - at % 8) & mask;
		memcpy(to, png->palette[value * scale], 3);
	}
}

static void row_of_bytes(const struct png *png, const uint8_t *row, size_t first, size_t count,
			 uint8_t *to, size_t step)
{
	size_t bytes = (size_t)png->channels * png->header.bit_depth / 8;
	for (row += first * bytes; count > 0; count--, row += bytes, to += step)
		memcpy(to, png->palette[row[0]], 3);
}

static void row_of_integers(const struct png *png, const uint8_t *row, size_t first, size_t count,
			    uint8_t *to, size_t step)
{
	for (row += first * 2; count > 0; count--, row += 2, to += step) {
		if (png->input->mask)
			codec_put_number(to, (uint16_t)(row[0] << 8 | row[1]));
		else
			memcpy(to, png->palette[row[0] ? 255 : row[1]], 3);
	}
}

/* Put a row of a mask with several samples of 16 bits, which are no number. */
static void row_of_none(const struct png *png, const uint8_t *row, size_t first, size_t count,
			uint8_t *to, size_t step)
{
	(void)png;
	(void)row;
	(void)first;
	for (; count > 0; count--, to += step)
		codec_put_none(to);
}

static void row_of_colours(const struct png *png, const uint8_t *row, size_t first, size_t count,
			   uint8_t *to, size_t step)
{
	size_t bytes = png->header.bit_depth / 8;
	for (row += first * png->channels * bytes; count > 0; count--, to += step) {
		to[0] = row[0];
		to[1] = row[bytes];
		to[2] = row[2 * bytes];
		row += png->channels * bytes;
	}
}

static void row_of_alpha(const struct png *png, const uint8_t *row, size_t first, size_t count,
			 uint8_t *to, size_t step)
{
	size_t bytes = png->header.bit_depth / 8, pixel = png->channels * bytes;
	for (row += first * pixel + pixel - bytes; count > 0; count--, row += pixel, to += step)
		memset(to, row[0], 3);
}

static void row_of_key(const struct png *png, const uint8_t *row, size_t first, size_t count,
		       uint8_t *to, size_t step)
{
	row_of_colours(png, row, first, count, to, step);
	for (; count > 0; count--, to += step)
		memset(to, memcmp(to, png->key, 3) == 0 ? 0 : 255, 3);
}

static void row_of_wide(const struct png *png, const uint8_t *row, size_t first, size_t count,
			uint8_t *to, size_t step)
{
	for (row += first * png->channels * 2; count > 0; count--, to += step)
		for (unsigned c = 0; c < png->channels; c++, row += 2)
			codec_put(png->input->form.type, to, c, (float)(row[0] << 8 | row[1]));
}

static row_convert *convert_of(const struct png *png)
{
	if (png->input->form.type)
		return row_of_wide;
	if (png->input->alpha && png->channels % 2 == 0)
		return row_of_alpha;
	if (png->input->alpha && png->channels == 3)
		return row_of_key;
	if (png->input->mask && png->channels > 1 && png->header.bit_depth == 16)
		return row_of_none;
	if (png->header.bit_depth < 8)
		return row_of_bits;
	if (png->channels >= 3)
		return row_of_colours;
	return png->header.bit_depth == 16 && png->channels == 1 ? row_of_integers : row_of_bytes;
}

static uint32_t number_at(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Before libspng, which would refuse huge sizes with a less clear error. */
static int png_check(const struct codec_input *input, struct fault *fault)
{
	const uint8_t *data = input->data;
	if (input->size < PNG_FILE_HEADER)
		return png_fault(fault, SPNG_IO_EOF);
	if (memcmp(data + 12, "IHDR", 4) != 0)
		return png_fault(fault, SPNG_ENOIHDR);
	uint32_t width = number_at(data + 16), height = number_at(data + 20);
	int r = limits_check_size(&input->limits, width, height, fault);
	if (r)
		return r;
	uint64_t row = (uint64_t)width * channels_of(data[25]) * data[24] / 8;
	if (row > ROW_BYTES)
		return fault_say(fault, DECODE_E_LIMIT, "PNG: a row of %s bytes, the limit is %s",
				 quote_number(row).text, quote_number(ROW_BYTES).text);
	return 0;
}

/* Open the file, or what was made of it, and read its header. */
static int png_open(struct png *png, const struct codec_input *input, const uint8_t *data,
		    size_t size, spng_ctx **out, struct fault *fault)
{
	struct spng_alloc alloc = {piece_malloc, piece_realloc, piece_calloc, piece_free};
	png_arena = input->arena;
	spng_ctx *ctx = spng_ctx_new2(&alloc, input->sound ? SPNG_CTX_IGNORE_ADLER32 : 0);
	if (!ctx)
		return png_fault(fault, SPNG_EMEM);
	int r = spng_set_png_buffer(ctx, data, size);
	if (r == 0)
		r = spng_set_chunk_limits(ctx, CHUNK_BYTES, CACHE_BYTES);
	if (r == 0 && input->sound) /* this has libspng ignore the checksum of the pixels, too */
		r = spng_set_crc_action(ctx, SPNG_CRC_USE, SPNG_CRC_USE);
	if (r == 0)
		r = spng_get_ihdr(ctx, &png->header);
	if (r) {
		spng_ctx_free(ctx);
		return png_fault(fault, r);
	}
	png->input = input;
	png->channels = channels_of(png->header.color_type);
	png->convert = convert_of(png);
	*out = ctx;
	return 0;
}

/* Has the file what Pillow makes an alpha channel of? */
static bool png_has_alpha(const struct png_file *file)
{
	return channels_of(file->data[PNG_FILE_COLOUR_TYPE]) % 2 == 0 || file->alpha;
}

/* The shade that is transparent: of one bit any number but 0 is white. */
static uint8_t png_clear_shade(const struct png *png, const struct png_file *file)
{
	if (png->header.bit_depth == 1)
		return file->alpha[0] || file->alpha[1] ? 255 : 0;
	return file->alpha[1];
}

/* The alpha of each shade or place in the palette, or the colour that is transparent. Of the two
 * bytes of each number Pillow compares the second with the bytes that pixels have become. */
static int png_read_alpha(struct png *png, struct fault *fault)
{
	struct png_file file;
	int r = png_file_open(&file, png->input->data, png->input->size, fault);
	if (r)
		return r;
	memset(png->palette, 255, sizeof(png->palette));
	if (png->header.color_type == SPNG_COLOR_TYPE_GRAYSCALE)
		memset(png->palette[png_clear_shade(png, &file)], 0, 3);
	for (unsigned i = 0; png->header.color_type == SPNG_COLOR_TYPE_TRUECOLOR && i < 3; i++)
		png->key[i] = file.alpha[2 * i + 1];
	for (unsigned i = 0; png->header.color_type == SPNG_COLOR_TYPE_INDEXED && i < 256; i++)
		if (i < file.alpha_bytes)
			memset(png->palette[i], file.alpha[i], 3);
	return 0;
}

/* Entries that the file's palette lacks are black, as in Pillow since 10.1. */
static int png_read_palette(struct png *png, spng_ctx *ctx, struct fault *fault)
{
	struct spng_plte plte;
	bool colours = png->header.color_type == SPNG_COLOR_TYPE_INDEXED && !png->input->mask;
	if (png->input->alpha)
		return png_read_alpha(png, fault);
	for (unsigned i = 0; i < 256; i++)
		memset(png->palette[i], colours ? 0 : (int)i, 3);
	if (!colours)
		return 0;
	int r = spng_get_plte(ctx, &plte);
	if (r)
		return png_fault(fault, r);
	for (unsigned i = 0; i < plte.n_entries && i < 256; i++) {
		png->palette[i][0] = plte.entries[i].red;
		png->palette[i][1] = plte.entries[i].green;
		png->palette[i][2] = plte.entries[i].blue;
	}
	return 0;
}

/* Convert what is needed of one stored row. */
static void png_place(const struct png *png, const struct pass *pass, const uint8_t *row, int32_t y,
		      const struct image *image, uint8_t *pixels)
{
	const struct rect *area = &image->area;
	if (y < area->y || y >= area->y + area->height)
		return;
	int32_t begin = area->x - pass->x, end = begin + area->width;
	if (end <= 0)
		return;
	size_t first = begin <= 0 ? 0 : ((size_t)begin + pass->step_x - 1) / pass->step_x;
	size_t last = ((size_t)end + pass->step_x - 1) / pass->step_x;
	if (first >= last)
		return;
	uint8_t *to = pixels + (size_t)(y - area->y) * image->stride;
	const size_t bytes = image_pixel_bytes(png->input->form);
	to += bytes * (pass->x + first * pass->step_x - (size_t)area->x);
	png->convert(png, row, first, last - first, to, bytes * (size_t)pass->step_x);
}

static int png_decode(const struct png *png, spng_ctx *ctx, const struct image *image,
		      uint8_t *pixels, struct fault *fault)
{
	const struct spng_ihdr *header = &png->header;
	bool plain = header->interlace_method == SPNG_INTERLACE_NONE;
	bool stop = plain && png->input->sound;
	int32_t last = image->area.y + image->area.height - 1;
	size_t room = ((size_t)header->width * png->channels * header->bit_depth + 7) / 8;
	uint8_t *row = arena_take(png->input->arena, room);
	if (!row)
		return png_fault(fault, SPNG_EMEM);
	int r = spng_decode_image(ctx, NULL, 0, SPNG_FMT_RAW, SPNG_DECODE_PROGRESSIVE);
	for (unsigned rows = 1; r == 0; rows++) {
		struct spng_row_info info;
		r = spng_get_row_info(ctx, &info);
		if (r)
			break;
		const struct pass *pass = &passes[plain ? PASS_PLAIN : info.pass];
		size_t count = (header->width - pass->x + pass->step_x - 1u) / pass->step_x;
		size_t bytes = (count * png->channels * header->bit_depth + 7) / 8;
		r = spng_decode_scanline(ctx, row, bytes);
		if (r && r != SPNG_EOI)
			break;
		png_place(png, pass, row, (int32_t)info.row_num, image, pixels);
		if (stop && (int32_t)info.row_num == last)
			return 0;
		if (r == 0 && rows % ROWS_PER_CHECK == 0) {
			int late =
				limits_check_time(&png->input->limits, png->input->start_ns, fault);
			if (late)
				return late;
		}
	}
	return r == SPNG_EOI ? 0 : png_fault(fault, r);
}

static bool png_accepts(const uint8_t *data, size_t size)
{
	return size >= 8 && memcmp(data, "\x89PNG\r\n\x1a\n", 8) == 0;
}

static int png_begin(void *state, const struct codec_input *input, struct codec_header *out,
		     struct fault *fault)
{
	struct png_file file;
	(void)state;
	int r = png_check(input, fault);
	r = r ? r : png_file_open(&file, input->data, input->size, fault);
	if (r)
		return r;
	out->width = (int32_t)number_at(input->data + 16);
	out->height = (int32_t)number_at(input->data + 20);
	out->orientation = 1;
	out->alpha = png_has_alpha(&file);
	out->clips = input->data[24] == 16 && input->data[PNG_FILE_COLOUR_TYPE] == 0;
	out->ids = input->data[24] == 8 && channels_of(input->data[PNG_FILE_COLOUR_TYPE]) >= 3;
	if (input->form.type && input->data[24] != 16)
		return codec_refuse_wide(input, "PNG", "8 bits a sample or less", fault);
	if (input->form.type)
		out->form = (struct image_form){input->form.type,
						channels_of(input->data[PNG_FILE_COLOUR_TYPE])};
	arena_reset(input->arena);
	return input->exif ? png_orientation(&file, input->arena, &out->orientation, fault) : 0;
}

static int png_read_from(const uint8_t *data, size_t size, const struct codec_input *input,
			 struct rect need, struct buffer *pixels, struct image *out,
			 struct fault *fault)
{
	struct png png;
	spng_ctx *ctx = NULL;
	struct image image;
	int r = png_open(&png, input, data, size, &ctx, fault);
	if (r)
		return r;
	struct codec_header header = {.width = (int32_t)png.header.width,
				      .height = (int32_t)png.header.height,
				      .form = input->form};
	r = png_read_palette(&png, ctx, fault);
	if (r == 0 && codec_reserve(&header, need, pixels, &image) < 0)
		r = png_fault(fault, SPNG_EMEM);
	if (r == 0)
		r = png_decode(&png, ctx, &image, pixels->data, fault);
	spng_ctx_free(ctx);
	if (r == 0)
		*out = image;
	return r;
}

/* Once more, without the chunks that libspng may have refused. */
static int png_read_rebuilt(const struct png_file *file, const struct codec_input *input,
			    struct rect need, struct buffer *pixels, struct image *out,
			    struct fault *fault)
{
	size_t size;
	const uint8_t *data = png_file_rebuild(file, input->arena, &size);
	if (!data)
		return png_fault(fault, SPNG_EMEM);
	return png_read_from(data, size, input, need, pixels, out, fault);
}

static int png_read(void *state, const struct codec_input *input, struct rect need,
		    struct buffer *pixels, struct image *out, struct fault *fault)
{
	struct png_file file;
	struct image image;
	struct fault first;
	(void)state;
	arena_reset(input->arena);
	int r = png_read_from(input->data, input->size, input, need, pixels, &image, &first);
	if (r != 0 && r != DECODE_E_CORRUPT && r != DECODE_E_LIMIT) {
		*fault = first;
		return r;
	}
	if (r != 0 || !input->sound) {
		bool again = r != 0;
		r = png_file_open(&file, input->data, input->size, fault);
		if (r == 0 && again)
			r = png_read_rebuilt(&file, input, need, pixels, &image, fault);
		r = r ? r : png_file_check_end(&file, fault);
	}
	if (r == 0)
		*out = image;
	return r;
}

const struct codec codec_png = {
	.name = "PNG",
	.wide = true,
	.accepts = png_accepts,
	.begin = png_begin,
	.read = png_read,
};
