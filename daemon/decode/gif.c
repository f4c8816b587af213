// SPDX-License-Identifier: MIT
/*
 * GIF: the first frame on the screen that it makes, as Pillow shows it. The rest of the screen has
 * the transparent colour, or the first one. LZW codes are walked from the first to the frame's last
 * pixel, and nothing but the needed part is kept; what follows is not looked at.
 */
#include "decode/gif.h"

#include <errno.h>
#include <string.h>

#include "decode/limits.h"
#include "decode/little.h"

#define SCREEN 13
#define LZW_BITS 12
#define LZW_CODES (1 << LZW_BITS)
#define CODES_A_CHECK 8192 /* of the deadline */

struct gif {
	const uint8_t *data;
	size_t size, at;
	int32_t width, height; /* of the screen */
	struct rect frame;
	bool interlaced, coloured;
	int transparent; /* an index, or -1 */
	unsigned bits;	 /* of a pixel's code, of which the lower 8 are its index */
	uint8_t palette[256][3];
};

static int gif_bad(const char *what, struct fault *fault)
{
	return fault_say(fault, DECODE_E_CORRUPT, "GIF: %s", what);
}

static int gif_cut(struct fault *fault)
{
	return gif_bad("the file is cut short", fault);
}

/* --- header --- */

/* `count` bytes, or NULL if they are not there. */
static const uint8_t *gif_take(struct gif *gif, size_t count)
{
	const uint8_t *at = gif->data + gif->at;
	if (gif->size - gif->at < count)
		return NULL;
	gif->at += count;
	return at;
}

/* The next part of a block's data, and its bytes; NULL behind the last. One that is cut is as long
 * as the file is. */
static const uint8_t *gif_part(struct gif *gif, unsigned *size_out)
{
	const uint8_t *head = gif_take(gif, 1);
	size_t left = gif->size - gif->at;
	if (!head || *head == 0)
		return NULL;
	*size_out = *head < left ? *head : (unsigned)left;
	return gif_take(gif, *size_out);
}

static void gif_skip(struct gif *gif)
{
	unsigned size;
	while (gif_part(gif, &size))
		;
}

/* Colours that the palette lacks are black. One that has grey n at n is none for Pillow: each
 * index is its shade, or, of a frame's own, has the screen's colour if there are some. */
static int gif_palette(struct gif *gif, unsigned flags, struct fault *fault)
{
	unsigned count = 2u << (flags & 7);
	const uint8_t *colours = gif_take(gif, 3 * (size_t)count);
	bool grey = true;
	if (!colours)
		return gif_cut(fault);
	for (unsigned i = 0; i < 3 * count; i++)
		grey = grey && colours[i] == i / 3;
	if (grey && gif->coloured)
		return 0;
	gif->coloured = !grey;
	memset(gif->palette, 0, sizeof(gif->palette));
	for (unsigned i = 0; i < 256; i++) {
		if (grey)
			memset(gif->palette[i], (int)i, 3);
		else if (i < count)
			memcpy(gif->palette[i], colours + 3 * (size_t)i, 3);
	}
	return 0;
}

static int gif_extension(struct gif *gif, struct fault *fault)
{
	const uint8_t *label = gif_take(gif, 1);
	unsigned size = 0;
	const uint8_t *part = label ? gif_part(gif, &size) : NULL;
	bool control = label && *label == 0xF9, application = label && *label == 0xFF;
	if (!label)
		return gif_bad("an extension is cut", fault);
	if (control && part && (size < 3 || (size < 4 && (part[0] & 1))))
		return gif_bad("the control of a frame is cut", fault);
	if (control && part && part[0] & 1)
		gif->transparent = part[3];
	/* Pillow asks this one how often the animation is shown. */
	if (application && part && size >= 11 && memcmp(part, "NETSCAPE2.0", 11) == 0)
		part = gif_part(gif, &size);
	/* Of a comment alone Pillow sees that it is empty: behind others it skips a part more. */
	if (part || *label != 0xFE)
		gif_skip(gif);
	return 0;
}

static int gif_frame(struct gif *gif, struct fault *fault)
{
	const uint8_t *head = gif_take(gif, 9);
	if (!head)
		return gif_cut(fault);
	gif->frame = (struct rect){(int32_t)little16(head), (int32_t)little16(head + 2),
				   (int32_t)little16(head + 4), (int32_t)little16(head + 6)};
	gif->interlaced = head[8] & 0x40;
	int r = head[8] & 0x80 ? gif_palette(gif, head[8], fault) : 0;
	const uint8_t *bits = r ? NULL : gif_take(gif, 1);
	if (!bits)
		return r ? r : gif_cut(fault);
	gif->bits = *bits;
	if (gif->bits > LZW_BITS)
		return gif_bad("codes of more than 12 bits a pixel", fault);
	if (gif->frame.width == 0 || gif->frame.height == 0)
		return gif_bad("the first frame is empty", fault);
	/* A frame that does not fit makes the screen larger. */
	if (gif->width < gif->frame.x + gif->frame.width)
		gif->width = gif->frame.x + gif->frame.width;
	if (gif->height < gif->frame.y + gif->frame.height)
		gif->height = gif->frame.y + gif->frame.height;
	return 0;
}

/* Up to the first frame's codes. */
static int gif_open(struct gif *gif, const struct codec_input *input, struct fault *fault)
{
	*gif = (struct gif){.data = input->data, .size = input->size, .transparent = -1};
	const uint8_t *screen = gif_take(gif, SCREEN);
	if (!screen)
		return gif_cut(fault);
	gif->width = (int32_t)little16(screen + 6);
	gif->height = (int32_t)little16(screen + 8);
	for (unsigned i = 0; i < 256; i++)
		memset(gif->palette[i], (int)i, 3);
	int r = screen[10] & 0x80 ? gif_palette(gif, screen[10], fault) : 0;
	while (r == 0) {
		const uint8_t *mark = gif_take(gif, 1);
		if (!mark || *mark == ';')
			return gif_bad("there is no picture in it", fault);
		if (*mark == '!')
			r = gif_extension(gif, fault);
		if (*mark == ',') {
			r = gif_frame(gif, fault);
			break;
		}
	}
	return r ? r
		 : limits_check_size(&input->limits, (uint64_t)gif->width, (uint64_t)gif->height,
				     fault);
}

/* --- codes --- */

/* The bits of codes, in blocks of up to 255 bytes. */
struct lzw_bits {
	uint32_t bits;
	unsigned count, block; /* bits; bytes that the block has left */
};

struct lzw {
	unsigned clear, next, size; /* the code that clears; the next free one; bits of a code */
	unsigned last_code;
	bool begun; /* there was a code behind the last clear */
	uint8_t last;
	uint8_t data[LZW_CODES];   /* the last pixel of a code's string ... */
	uint16_t link[LZW_CODES];  /* ... and the code of those before */
	uint8_t string[LZW_CODES]; /* filled from its end on */
	unsigned from;		   /* where the string begins */
};

/* The place of the next pixel, and what of the frame is kept. */
struct gif_walk {
	const struct gif *gif;
	const struct image *out;
	uint8_t *pixels;
	bool alpha, indices;
	int32_t x, y, step;
	int pass;     /* of an interlaced frame: 1 to 3, then 0 */
	uint8_t *row; /* NULL: nothing of it is needed */
	bool done;
};

static void walk_colour(const struct gif_walk *walk, uint8_t index, uint8_t *out)
{
	if (walk->alpha)
		memset(out, index == walk->gif->transparent ? 0 : 255, 3);
	else if (walk->indices)
		memset(out, index, 3);
	else
		memcpy(out, walk->gif->palette[index], 3);
}

static void walk_begin_row(struct gif_walk *walk)
{
	const struct rect *need = &walk->out->area;
	int64_t y = (int64_t)walk->gif->frame.y + walk->y - need->y;
	walk->row =
		y >= 0 && y < need->height ? walk->pixels + walk->out->stride * (size_t)y : NULL;
}

static void walk_next_row(struct gif_walk *walk)
{
	static const int32_t begins[] = {0, 4, 2, 1}, steps[] = {0, 8, 4, 2};
	walk->x = 0;
	walk->y += walk->step;
	while (walk->y >= walk->gif->frame.height && !walk->done) {
		walk->done = walk->pass == 0;
		walk->y = begins[walk->pass];
		walk->step = steps[walk->pass];
		walk->pass = walk->pass == 3 ? 0 : walk->pass + 1;
	}
	walk_begin_row(walk);
}

static void walk_put(struct gif_walk *walk, const uint8_t *string, unsigned count)
{
	const struct rect *need = &walk->out->area;
	for (unsigned i = 0; i < count && !walk->done; i++) {
		int32_t x = walk->gif->frame.x + walk->x - need->x;
		if (walk->row && x >= 0 && x < need->width)
			walk_colour(walk, string[i], walk->row + (size_t)x * 3);
		if (++walk->x >= walk->gif->frame.width)
			walk_next_row(walk);
	}
}

/* The next code of `size` bits; false if the file ends before. */
static bool lzw_code(struct lzw_bits *bits, struct gif *gif, unsigned size, unsigned *out)
{
	while (bits->count < size) {
		const uint8_t *byte = gif_take(gif, 1);
		if (!byte)
			return false;
		if (bits->block == 0) {
			/* A block counts once it is there as a whole. */
			bits->block = *byte;
			if (gif->size - gif->at < bits->block)
				return false;
			continue;
		}
		bits->block--;
		bits->bits |= (uint32_t)*byte << bits->count;
		bits->count += 8;
	}
	*out = bits->bits & ((1u << size) - 1);
	bits->bits >>= size;
	bits->count -= size;
	return true;
}

static void lzw_clear(struct lzw *lzw, unsigned bits)
{
	lzw->clear = 1u << bits;
	lzw->next = lzw->clear + 2;
	lzw->size = bits + 1;
	lzw->begun = false;
}

static void lzw_add(struct lzw *lzw)
{
	if (lzw->next >= LZW_CODES)
		return;
	lzw->data[lzw->next] = lzw->last;
	lzw->link[lzw->next] = (uint16_t)lzw->last_code;
	if (lzw->next == (1u << lzw->size) - 1 && lzw->size < LZW_BITS)
		lzw->size++;
	lzw->next++;
}

/* The string of a code; false if no such code was made. */
static bool lzw_expand(struct lzw *lzw, unsigned code)
{
	unsigned at = code;
	lzw->from = LZW_CODES;
	if (!lzw->begun) {
		if (code > lzw->clear)
			return false;
		lzw->begun = true;
		lzw->last_code = code;
		lzw->string[--lzw->from] = lzw->last = (uint8_t)code;
		return true;
	}
	if (code > lzw->next)
		return false;
	if (code == lzw->next) {
		lzw->string[--lzw->from] = lzw->last;
		at = lzw->last_code;
	}
	while (at >= lzw->clear) {
		if (lzw->from == 0 || at >= LZW_CODES)
			return false;
		lzw->string[--lzw->from] = lzw->data[at];
		at = lzw->link[at];
	}
	if (lzw->from == 0)
		return false;
	lzw->string[--lzw->from] = lzw->last = (uint8_t)at;
	lzw_add(lzw);
	lzw->last_code = code;
	return true;
}

static int gif_walk_codes(struct gif *gif, const struct codec_input *input, struct gif_walk *walk,
			  struct fault *fault)
{
	struct lzw_bits bits = {0};
	struct lzw lzw;
	lzw_clear(&lzw, gif->bits);
	for (uint64_t codes = 0; !walk->done; codes++) {
		unsigned code = 0;
		int r = codes % CODES_A_CHECK
				? 0
				: limits_check_time(&input->limits, input->start_ns, fault);
		if (r)
			return r;
		if (!lzw_code(&bits, gif, lzw.size, &code) || code == lzw.clear + 1)
			return gif_cut(fault);
		if (code == lzw.clear) {
			lzw_clear(&lzw, gif->bits);
			continue;
		}
		if (!lzw_expand(&lzw, code))
			return gif_bad("a code that stands for nothing", fault);
		walk_put(walk, lzw.string + lzw.from, LZW_CODES - lzw.from);
	}
	return 0;
}

/* --- the codec --- */

static bool gif_accepts(const uint8_t *data, size_t size)
{
	return size >= 6 && (memcmp(data, "GIF87a", 6) == 0 || memcmp(data, "GIF89a", 6) == 0);
}

static struct codec_header gif_header(const struct gif *gif)
{
	return (struct codec_header){gif->width, gif->height, 1, gif->transparent >= 0};
}

static int gif_begin(void *state, const struct codec_input *input, struct codec_header *out,
		     struct fault *fault)
{
	struct gif gif;
	(void)state;
	int r = gif_open(&gif, input, fault);
	if (r == 0)
		*out = gif_header(&gif);
	return r;
}

static void gif_fill(const struct gif_walk *walk)
{
	uint8_t index = walk->gif->transparent >= 0 ? (uint8_t)walk->gif->transparent : 0;
	size_t pixels = (size_t)walk->out->area.width * (size_t)walk->out->area.height;
	for (size_t i = 0; i < pixels; i++)
		walk_colour(walk, index, walk->pixels + 3 * i);
}

static int gif_read(void *state, const struct codec_input *input, struct rect need,
		    struct buffer *pixels, struct image *out, struct fault *fault)
{
	struct gif gif;
	struct image shown;
	(void)state;
	int r = gif_open(&gif, input, fault);
	if (r)
		return r;
	struct codec_header header = gif_header(&gif);
	if (codec_reserve(&header, need, pixels, &shown) < 0)
		return fault_say(fault, -ENOMEM, "out of memory while decoding");
	struct gif_walk walk = {.gif = &gif,
				.out = &shown,
				.pixels = pixels->data,
				.alpha = input->alpha,
				.indices = input->mask,
				.step = gif.interlaced ? 8 : 1,
				.pass = gif.interlaced ? 1 : 0};
	bool whole = gif.frame.width == gif.width && gif.frame.height == gif.height;
	if (!whole)
		gif_fill(&walk);
	walk_begin_row(&walk);
	r = gif_walk_codes(&gif, input, &walk, fault);
	if (r == 0)
		*out = shown;
	return r;
}

const struct codec codec_gif = {
	.name = "GIF",
	.accepts = gif_accepts,
	.begin = gif_begin,
	.read = gif_read,
};
