// SPDX-License-Identifier: MIT
/*
 * BMP of 1, 4, 8, 16, 24 and 32 bits a pixel, of RLE4 and RLE8, as Pillow reads them: the header of
 * 12 bytes is OS/2's, those of 40, 64, 108 and 124 are later ones; alpha is dropped, or alone is
 * given. Rows lie at multiples of 4 bytes, the lowest first unless the height is negative, so the
 * needed ones are read where they lie. Of a run-length code all that comes before them is walked,
 * and nothing is kept.
 */
#include "decode/bmp.h"

#include <string.h>

#include "decode/limits.h"
#include "decode/little.h"

#define FILE_HEADER 14
#define OS2_HEADER 12
#define COLOURS_MAX 256
#define COLOURS_READ_MAX 65536 /* as many may be in the file, if they are shades of grey */
#define ROWS_A_CHECK 64	       /* of the deadline */
#define CODES_A_CHECK 8192     /* of the deadline */

enum { BMP_RAW, BMP_RLE8, BMP_RLE4, BMP_BITFIELDS };

/* Positions of a pixel's red, green and blue: bytes of 24 and 32 bits, else bits of 16. */
struct bmp_layout {
	uint32_t red, green, blue, alpha; /* masks of the file */
	uint8_t red_at, green_at, blue_at;
	uint8_t green_bits; /* of 16 bits a pixel */
	bool has_alpha;	    /* of 32 bits */
	uint8_t alpha_at;
};

struct bmp {
	int32_t width, height;
	bool top_down;
	unsigned bits, compression;
	size_t stride;			 /* from one row to the next */
	uint8_t palette[COLOURS_MAX][3]; /* of 8 bits and less */
	struct bmp_layout layout;
	const uint8_t *start; /* of the file */
	size_t size, at;      /* of the file; where its pixels begin */
};

static int bmp_cut(struct fault *fault)
{
	return fault_say(fault, DECODE_E_CORRUPT, "BMP: the file is cut short");
}

static bool is_coded(const struct bmp *image)
{
	return image->compression == BMP_RLE8 || image->compression == BMP_RLE4;
}

static size_t row_bytes(const struct bmp *image)
{
	return ((size_t)image->width * image->bits + 7) / 8;
}

/* --- header --- */

/* The forms without a mask, and with those masks that Pillow knows. */
static const struct {
	unsigned bits;
	struct bmp_layout layout;
} layouts[] = {
	{16, {0x7C00, 0x3E0, 0x1F, 0, 10, 5, 0, 5}},
	{16, {0xF800, 0x7E0, 0x1F, 0, 11, 5, 0, 6}},
	{24, {0xFF0000, 0xFF00, 0xFF, 0, 2, 1, 0, 0}},
	{32, {0xFF0000, 0xFF00, 0xFF, 0, 2, 1, 0, 0}},
	{32, {0xFF000000, 0xFF0000, 0xFF00, 0, 3, 2, 1, 0}},
	{32, {0xFF000000, 0xFF0000, 0xFF00, 0xFF, 3, 2, 1, 0, true, 0}},
	{32, {0xFF000000, 0xFF00, 0xFF, 0, 3, 1, 0, 0}},
	{32, {0xFF000000, 0xFF00, 0xFF, 0xFF0000, 3, 1, 0, 0, true, 2}},
	{32, {0xFF, 0xFF00, 0xFF0000, 0xFF000000, 0, 1, 2, 0, true, 3}},
	{32, {0xFF0000, 0xFF00, 0xFF, 0xFF000000, 2, 1, 0, 0, true, 3}},
	{32, {0, 0, 0, 0, 2, 1, 0, 0, true, 3}},
};
#define LAYOUTS (sizeof(layouts) / sizeof(*layouts))

/* The first form of that depth if there are no `masks`. */
static int set_layout(struct bmp *image, const struct bmp_layout *masks, struct fault *fault)
{
	for (size_t i = 0; i < LAYOUTS; i++) {
		const struct bmp_layout *known = &layouts[i].layout;
		bool fits = !masks || (masks->red == known->red && masks->green == known->green &&
				       masks->blue == known->blue &&
				       (image->bits < 32 || masks->alpha == known->alpha));
		if (layouts[i].bits != image->bits || !fits)
			continue;
		image->layout = *known;
		return 0;
	}
	return fault_say(fault, DECODE_E_UNSUPPORTED,
			 "BMP: %u bits a pixel with other colour masks "
			 "than the usual ones: convert the file",
			 image->bits);
}

/* Masks stand behind a header of 40 bytes, and at the same place in the longer ones. */
static int read_masks(struct bmp *image, uint32_t header_size, struct fault *fault)
{
	const uint8_t *at = image->start + FILE_HEADER + 40;
	if (image->size < FILE_HEADER + 40 + 16u)
		return bmp_cut(fault);
	struct bmp_layout masks = {little32(at), little32(at + 4), little32(at + 8)};
	masks.alpha = header_size >= 56 ? little32(at + 12) : 0;
	return set_layout(image, &masks, fault);
}

/* Check that the file gives each index its shade of grey; of up to two colours they are black and
 * white. */
static bool palette_is_grey(const struct bmp *image, size_t at, uint32_t colours, unsigned entry)
{
	for (uint32_t i = 0; i < colours; i++, at += entry) {
		uint8_t shade = colours == 2 && i == 1 ? 255 : (uint8_t)i;
		if (at + 3 > image->size || image->start[at] != shade ||
		    image->start[at + 1] != shade || image->start[at + 2] != shade)
			return false;
	}
	return true;
}

/* Pillow passes a grey palette over, and takes rows that are not packed for bytes, or bits. */
static int take_shades(struct bmp *image, uint32_t colours, struct fault *fault)
{
	bool runs = is_coded(image), two = colours <= 2;
	for (unsigned i = 0; i < COLOURS_MAX; i++)
		memset(image->palette[i], two && i ? 255 : (int)i, 3);
	if (!runs)
		image->bits = two ? 1 : 8;
	if (runs ? !two : row_bytes(image) <= image->stride)
		return 0;
	return fault_say(fault, DECODE_E_UNSUPPORTED, "BMP: packed greys: take PNG");
}

/* An index that the file gives no colour is black, as in Pillow since 10.1. */
static int read_palette(struct bmp *image, size_t at, uint32_t colours, unsigned entry,
			struct fault *fault)
{
	if (colours <= COLOURS_READ_MAX && palette_is_grey(image, at, colours, entry))
		return take_shades(image, colours, fault);
	if (colours > COLOURS_READ_MAX ||
	    (colours > COLOURS_MAX && (image->size - at) / entry > COLOURS_MAX))
		return fault_say(fault, DECODE_E_CORRUPT, "BMP: a palette of %u colours", colours);
	memset(image->palette, 0, sizeof(image->palette));
	for (uint32_t i = 0; i < colours && i < COLOURS_MAX && at + entry <= image->size;
	     i++, at += entry) {
		for (unsigned c = 0; c < 3; c++)
			image->palette[i][c] = image->start[at + 2 - c];
	}
	return 0;
}

static int check_form(const struct bmp *image, struct fault *fault)
{
	unsigned bits = image->bits;
	if (bits != 1 && bits != 4 && bits != 8 && bits != 16 && bits != 24 && bits != 32)
		return fault_say(fault, DECODE_E_UNSUPPORTED, "BMP of %u bits: convert it", bits);
	if (image->compression > BMP_BITFIELDS || (is_coded(image) && bits > 8) ||
	    (image->compression == BMP_BITFIELDS && bits <= 8))
		return fault_say(fault, DECODE_E_UNSUPPORTED,
				 "BMP: compression %u with %u bits a pixel: convert it",
				 image->compression, bits);
	return 0;
}

/* The sizes, and the form of the pixels. `colours`: what the header says, or 0. */
static int read_header(struct bmp *image, uint32_t header_size, const struct codec_input *input,
		       uint32_t *colours, struct fault *fault)
{
	const uint8_t *header = image->start + FILE_HEADER;
	uint64_t width, height;
	*colours = 0;
	if (header_size == OS2_HEADER) {
		width = little16(header + 4);
		height = little16(header + 6);
		image->bits = little16(header + 10);
	} else {
		width = little32(header + 4);
		height = little32(header + 8);
		image->top_down = header[11] == 0xFF;
		if (image->top_down)
			height = ((uint64_t)1 << 32) - height;
		image->bits = little16(header + 14);
		image->compression = little32(header + 16);
		*colours = little32(header + 32);
	}
	int r = limits_check_size(&input->limits, width, height, fault);
	if (r)
		return r;
	image->width = (int32_t)width;
	image->height = (int32_t)height;
	image->stride = (((size_t)width * image->bits + 31) >> 3) & ~(size_t)3;
	return check_form(image, fault);
}

static int bmp_open(const struct codec_input *input, struct bmp *image, struct fault *fault)
{
	uint32_t colours;
	*image = (struct bmp){.start = input->data, .size = input->size};
	if (input->size < FILE_HEADER + 4)
		return bmp_cut(fault);
	uint32_t header_size = little32(input->data + FILE_HEADER);
	if (header_size != OS2_HEADER && header_size != 40 && header_size != 52 &&
	    header_size != 56 && header_size != 64 && header_size != 108 && header_size != 124)
		return fault_say(fault, DECODE_E_UNSUPPORTED,
				 "BMP: a header of %u bytes: convert the file", header_size);
	size_t behind = FILE_HEADER + header_size;
	if (input->size < behind)
		return bmp_cut(fault);
	int r = read_header(image, header_size, input, &colours, fault);
	if (r == 0 && image->compression == BMP_BITFIELDS)
		r = read_masks(image, header_size, fault);
	else if (r == 0 && image->bits > 8)
		r = set_layout(image, NULL, fault);
	if (r)
		return r;

	size_t offset = little32(input->data + 10);
	unsigned entry = header_size == OS2_HEADER ? 3 : 4;
	bool indexed = image->bits <= 8;
	if (indexed) {
		colours = colours ? colours : 1u << image->bits;
		r = read_palette(image, behind, colours, entry, fault);
		if (r)
			return r;
		for (unsigned i = 0; i < COLOURS_MAX && input->mask; i++)
			memset(image->palette[i], (int)i, 3);
		/* Some programs forget the palette in it. */
		if (offset == behind)
			offset += entry * (size_t)colours;
	}
	size_t masks = image->compression == BMP_BITFIELDS && header_size == 40 ? 12 : 0;
	size_t palette = indexed ? entry * (size_t)colours : 0;
	image->at = offset ? offset : behind + masks + palette;
	return 0;
}

/* --- rows as they are --- */

static void indexed_row(const struct bmp *image, const uint8_t *row, struct rect need, uint8_t *out)
{
	unsigned bits = image->bits, last = (1u << bits) - 1;
	for (int32_t i = 0; i < need.width; i++) {
		size_t bit = (size_t)(need.x + i) * bits;
		unsigned index = row[bit >> 3] >> (8 - bits - (bit & 7)) & last;
		memcpy(out + (size_t)i * 3, image->palette[index], 3);
	}
}

static void sixteen_row(const struct bmp *image, const uint8_t *row, struct rect need, uint8_t *out)
{
	const struct bmp_layout *layout = &image->layout;
	unsigned green_last = (1u << layout->green_bits) - 1;
	for (int32_t i = 0; i < need.width; i++) {
		uint32_t pixel = little16(row + (size_t)(need.x + i) * 2);
		uint8_t *to = out + (size_t)i * 3;
		to[0] = (uint8_t)((pixel >> layout->red_at & 31) * 255 / 31);
		to[1] = (uint8_t)((pixel >> layout->green_at & green_last) * 255 / green_last);
		to[2] = (uint8_t)((pixel >> layout->blue_at & 31) * 255 / 31);
	}
}

static void true_row(const struct bmp *image, const uint8_t *row, struct rect need, uint8_t *out)
{
	const struct bmp_layout *layout = &image->layout;
	size_t step = image->bits / 8;
	for (int32_t i = 0; i < need.width; i++) {
		const uint8_t *pixel = row + (size_t)(need.x + i) * step;
		uint8_t *to = out + (size_t)i * 3;
		to[0] = pixel[layout->red_at];
		to[1] = pixel[layout->green_at];
		to[2] = pixel[layout->blue_at];
	}
}

static void alpha_row(const struct bmp *image, const uint8_t *row, struct rect need, uint8_t *out)
{
	row += (size_t)need.x * 4 + image->layout.alpha_at;
	for (int32_t i = 0; i < need.width; i++)
		memset(out + (size_t)i * 3, row[(size_t)i * 4], 3);
}

static int read_rows(const struct bmp *image, const struct codec_input *input,
		     const struct image *out, uint8_t *pixels, struct fault *fault)
{
	struct rect need = out->area;
	for (int32_t i = 0; i < need.height; i++) {
		int32_t y = image->top_down ? need.y + i : image->height - 1 - need.y - i;
		const uint8_t *row = image->start + image->at + image->stride * (size_t)y;
		uint8_t *to = pixels + out->stride * (size_t)i;
		int r = i % ROWS_A_CHECK
				? 0
				: limits_check_time(&input->limits, input->start_ns, fault);
		if (r)
			return r;
		if (input->alpha)
			alpha_row(image, row, need, to);
		else if (image->bits <= 8)
			indexed_row(image, row, need, to);
		else if (image->bits == 16)
			sixteen_row(image, row, need, to);
		else
			true_row(image, row, need, to);
	}
	return 0;
}

/* The last row's padding may be missing. */
static int check_rows(const struct bmp *image, struct fault *fault)
{
	uint64_t bytes = (uint64_t)image->stride * (uint64_t)(image->height - 1) + row_bytes(image);
	if (image->at > image->size || image->size - image->at < bytes)
		return bmp_cut(fault);
	return 0;
}

/* --- run-length codes --- */

/* A walk over the pixels in the order of the file. */
struct walk {
	const struct bmp *image;
	const struct image *out;
	uint8_t *pixels;
	uint64_t done, all; /* pixels */
	uint64_t column;    /* of the coded row, as the coder counts it */
	size_t at;	    /* in the file */
	bool over;	    /* no more codes */
};

/* The next pixel has that index. */
static void walk_put(struct walk *walk, uint8_t index)
{
	const struct bmp *image = walk->image;
	const struct rect *need = &walk->out->area;
	if (walk->done >= walk->all)
		return;
	int32_t x = (int32_t)(walk->done % (uint64_t)image->width);
	int32_t y = (int32_t)(walk->done / (uint64_t)image->width);
	walk->done++;
	if (!image->top_down)
		y = image->height - 1 - y;
	if (x < need->x || x >= need->x + need->width || y < need->y || y >= need->y + need->height)
		return;
	memcpy(walk->pixels + walk->out->stride * (size_t)(y - need->y) + (size_t)(x - need->x) * 3,
	       image->palette[index], 3);
}

/* A run within the row. */
static void walk_run(struct walk *walk, unsigned count, uint8_t byte)
{
	bool four = walk->image->compression == BMP_RLE4;
	uint64_t room = (uint64_t)walk->image->width;
	room = walk->column < room ? room - walk->column : 0;
	if (count > room)
		count = (unsigned)room;
	for (unsigned i = 0; i < count; i++)
		walk_put(walk, !four ? byte : i % 2 ? byte & 15 : byte >> 4);
	walk->column += count;
}

/* `count` pixels as they are; the code ends at an even place of the file, and an odd number of four
 * bits with four that stand for nothing. False at the end of the file. */
static bool walk_literal(struct walk *walk, unsigned count)
{
	const uint8_t *codes = walk->image->start + walk->at;
	bool four = walk->image->compression == BMP_RLE4;
	if (count > walk->all - walk->done)
		count = (unsigned)(walk->all - walk->done);
	size_t bytes = four ? (count + 1) / 2 : count, left = walk->image->size - walk->at;
	for (unsigned i = 0; i < count && (four ? i / 2 : i) < left; i++)
		walk_put(walk, !four ? codes[i] : i % 2 ? codes[i / 2] & 15 : codes[i / 2] >> 4);
	if (left < bytes)
		return false;
	walk->at += bytes;
	walk->at += walk->at & 1;
	walk->column += count;
	return walk->at <= walk->image->size;
}

static void walk_end_row(struct walk *walk)
{
	while (walk->done % (uint64_t)walk->image->width)
		walk_put(walk, 0);
	walk->column = 0;
}

/* Two bytes of the code; NULL at the end of the file. */
static const uint8_t *walk_pair(struct walk *walk)
{
	const uint8_t *pair = walk->image->start + walk->at;
	if (walk->image->size - walk->at < 2)
		return NULL;
	walk->at += 2;
	return pair;
}

/* A jump by columns and rows; what it passes over has the first colour. False at the file's end. */
static bool walk_jump(struct walk *walk)
{
	const uint8_t *by = walk_pair(walk);
	uint64_t width = (uint64_t)walk->image->width;
	for (uint64_t left = by ? by[0] + by[1] * width : 0; left && walk->done < walk->all; left--)
		walk_put(walk, 0);
	walk->column = walk->done % width;
	return by;
}

static void walk_code(struct walk *walk)
{
	const uint8_t *code = walk_pair(walk);
	if (!code) {
		walk->over = true;
		return;
	}
	if (code[0])
		walk_run(walk, code[0], code[1]);
	else if (code[1] == 0)
		walk_end_row(walk);
	else if (code[1] == 1)
		walk->over = true;
	else if (code[1] == 2)
		walk->over = !walk_jump(walk);
	else
		walk->over = !walk_literal(walk, code[1]);
}

/* Read the runs as far as the last row that is needed, of a file that was found sound. */
static int read_runs(const struct bmp *image, const struct codec_input *input,
		     const struct image *out, uint8_t *pixels, struct fault *fault)
{
	struct rect need = out->area;
	int32_t rows = image->top_down ? need.y + need.height : image->height - need.y;
	struct walk walk = {.image = image,
			    .out = out,
			    .pixels = pixels,
			    .all = (uint64_t)image->width *
				   (uint64_t)(input->sound ? rows : image->height),
			    .at = image->at,
			    .over = image->at > image->size};
	for (uint64_t codes = 0; walk.done < walk.all; codes++) {
		int r = codes % CODES_A_CHECK
				? 0
				: limits_check_time(&input->limits, input->start_ns, fault);
		if (r == 0 && walk.over)
			r = bmp_cut(fault);
		if (r)
			return r;
		walk_code(&walk);
	}
	return 0;
}

/* --- the codec --- */

static bool bmp_accepts(const uint8_t *data, size_t size)
{
	return size >= 2 && data[0] == 'B' && data[1] == 'M';
}

static int bmp_begin(void *state, const struct codec_input *input, struct codec_header *out,
		     struct fault *fault)
{
	struct bmp image;
	(void)state;
	int r = bmp_open(input, &image, fault);
	if (r == 0)
		*out = (struct codec_header){image.width, image.height, 1, image.layout.has_alpha};
	return r;
}

static int bmp_read(void *state, const struct codec_input *input, struct rect need,
		    struct buffer *pixels, struct image *out, struct fault *fault)
{
	struct bmp image;
	struct image shown;
	(void)state;
	int r = bmp_open(input, &image, fault);
	if (r == 0 && !is_coded(&image))
		r = check_rows(&image, fault);
	if (r)
		return r;
	struct codec_header header = {image.width, image.height, 1, false};
	r = codec_reserve(&header, need, pixels, &shown);
	if (r < 0)
		return fault_say(fault, r, "out of memory while decoding");
	r = is_coded(&image) ? read_runs(&image, input, &shown, pixels->data, fault)
			     : read_rows(&image, input, &shown, pixels->data, fault);
	if (r == 0)
		*out = shown;
	return r;
}

const struct codec codec_bmp = {
	.name = "BMP",
	.accepts = bmp_accepts,
	.begin = bmp_begin,
	.read = bmp_read,
};
