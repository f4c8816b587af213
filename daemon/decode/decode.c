// SPDX-License-Identifier: MIT
#include "decode/decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "decode/codec.h"
#include "decode/jpeg/jpeg.h"
#include "decode/png.h"
#include "decode/webp.h"

#define KEEP_BYTES ((size_t)64 << 20) /* scratch above this is given back after the image */

enum format { FORMAT_NONE, FORMAT_JPEG, FORMAT_PNG, FORMAT_WEBP };

struct decoder {
	struct jpeg *jpeg;
	struct arena arena; /* of the libraries that can be told to use it */
	struct codec_input input;
	enum format format; /* of the image begun */
	struct codec_header header;
	struct buffer row;    /* one stored row of a PNG */
	struct buffer pixels; /* as stored */
	struct buffer turned; /* as EXIF wants it */
};

/*
 * How a turned picture lies on the stored one: its (x, y) is the stored (x, y), or (y, x) when
 * `swap`, then counted from the other end where `flip` says so.
 */
struct turn {
	bool swap, flip_x, flip_y;
};

static struct turn turn_of(unsigned orientation)
{
	static const struct turn turns[] = {
		[1] = {false, false, false}, [2] = {false, true, false}, [3] = {false, true, true},
		[4] = {false, false, true},  [5] = {true, false, false}, [6] = {true, false, true},
		[7] = {true, true, true},    [8] = {true, true, false},
	};
	return turns[orientation];
}

/* The stored part that a part of the turned picture shows. */
static struct rect turn_rect(const struct turn *turn, const struct codec_header *header,
			     struct rect rect)
{
	if (turn->swap)
		rect = (struct rect){rect.y, rect.x, rect.height, rect.width};
	if (turn->flip_x)
		rect.x = header->width - rect.x - rect.width;
	if (turn->flip_y)
		rect.y = header->height - rect.y - rect.height;
	return rect;
}

/* `stored` covers turn_rect(need); write `need` to `to`. */
static void turn_pixels(const struct turn *turn, const struct image *stored, struct rect part,
			struct rect need, uint8_t *to)
{
	ptrdiff_t step_x = turn->flip_x ? -3 : 3;
	ptrdiff_t step_y = turn->flip_y ? -(ptrdiff_t)stored->stride : (ptrdiff_t)stored->stride;
	const uint8_t *from = stored->pixels;
	from += (size_t)(part.y - stored->area.y) * stored->stride;
	from += (size_t)(part.x - stored->area.x) * 3;
	if (turn->flip_x)
		from += (size_t)(part.width - 1) * 3;
	if (turn->flip_y)
		from += (size_t)(part.height - 1) * stored->stride;
	ptrdiff_t along = turn->swap ? step_y : step_x; /* one to the right in the turned picture */
	ptrdiff_t down = turn->swap ? step_x : step_y;
	for (int32_t y = 0; y < need.height; y++)
		for (int32_t x = 0; x < need.width; x++, to += 3)
			memcpy(to, from + y * down + x * along, 3);
}

static int decoder_turn(struct decoder *decoder, const struct turn *turn, struct rect part,
			struct rect need, struct image *image, struct fault *fault)
{
	struct codec_header header = decoder->header;
	if (turn->swap) {
		header.width = decoder->header.height;
		header.height = decoder->header.width;
	}
	struct image turned;
	if (codec_room(&header, need, &decoder->turned, &turned) < 0)
		return fault_say(fault, -ENOMEM, "no memory for the picture");
	turn_pixels(turn, image, part, need, decoder->turned.data);
	*image = turned;
	return 0;
}

void decoder_end(struct decoder *decoder)
{
	jpeg_end(decoder->jpeg);
	jpeg_trim(decoder->jpeg, KEEP_BYTES);
	decoder->format = FORMAT_NONE;
	buffer_trim(&decoder->row, KEEP_BYTES);
	buffer_trim(&decoder->pixels, KEEP_BYTES);
	buffer_trim(&decoder->turned, KEEP_BYTES);
}

int decoder_new(struct decoder **out)
{
	struct decoder *decoder = calloc(1, sizeof(*decoder));
	if (!decoder)
		return -ENOMEM;
	int r = jpeg_new(&decoder->jpeg, &decoder->arena);
	if (r < 0) {
		free(decoder);
		return r;
	}
	*out = decoder;
	return 0;
}

void decoder_free(struct decoder *decoder)
{
	if (!decoder)
		return;
	jpeg_free(decoder->jpeg);
	buffer_deinit(&decoder->row);
	buffer_deinit(&decoder->pixels);
	buffer_deinit(&decoder->turned);
	arena_deinit(&decoder->arena);
	free(decoder);
}

static enum format format_of(const uint8_t *data, size_t size)
{
	if (jpeg_accepts(data, size))
		return FORMAT_JPEG;
	if (png_accepts(data, size))
		return FORMAT_PNG;
	if (webp_accepts(data, size))
		return FORMAT_WEBP;
	return FORMAT_NONE;
}

/* What a folder of pictures may hold beside, by how it begins. */
static const char *name_of_other(const uint8_t *data, size_t size)
{
	static const struct {
		const char *bytes;
		size_t size, at;
		const char *name;
	} others[] = {
		{"GIF8", 4, 0, "a GIF"},     {"BM", 2, 0, "a BMP"},
		{"II*\0", 4, 0, "a TIFF"},   {"MM\0*", 4, 0, "a TIFF"},
		{"ftyphei", 7, 4, "a HEIC"}, {"ftypavif", 8, 4, "an AVIF"},
		{"P5", 2, 0, "a PGM"},	     {"P6", 2, 0, "a PPM"},
	};
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (size >= others[i].at + others[i].size &&
		    memcmp(data + others[i].at, others[i].bytes, others[i].size) == 0)
			return others[i].name;
	}
	return NULL;
}

static int decoder_refuse(const uint8_t *data, size_t size, struct fault *fault)
{
	const char *name = name_of_other(data, size);
	if (name)
		return fault_say(fault, DECODE_E_FORMAT,
				 "no JPEG, PNG or WebP, but what looks like %s: convert it", name);
	return fault_say(fault, DECODE_E_FORMAT,
			 "no JPEG, PNG or WebP: %s bytes that begin otherwise",
			 codec_number(size).text);
}

int decoder_begin(struct decoder *decoder, const uint8_t *data, size_t size,
		  const struct decode_limits *limits, bool exif, int32_t *width_out,
		  int32_t *height_out, struct fault *fault)
{
	decoder_end(decoder);
	decoder->input = (struct codec_input){data, size, *limits, clock_thread_ns(), false};
	enum format format = format_of(data, size);
	int r;
	switch (format) {
	case FORMAT_JPEG:
		r = jpeg_begin(decoder->jpeg, &decoder->input, exif, &decoder->header, fault);
		break;
	case FORMAT_PNG:
		r = png_begin(&decoder->input, &decoder->arena, exif, &decoder->header, fault);
		break;
	case FORMAT_WEBP:
		r = webp_begin(&decoder->input, exif, &decoder->header, fault);
		break;
	default:
		return decoder_refuse(data, size, fault);
	}
	if (r)
		return r;
	decoder->format = format;
	bool swap = turn_of(decoder->header.orientation).swap;
	*width_out = swap ? decoder->header.height : decoder->header.width;
	*height_out = swap ? decoder->header.width : decoder->header.height;
	return 0;
}

void decoder_set_origin(struct decoder *decoder, const struct decode_origin *origin)
{
	if (decoder->format == FORMAT_JPEG)
		jpeg_set_origin(decoder->jpeg, origin);
}

bool decoder_visit(struct decoder *decoder)
{
	if (decoder->format != FORMAT_JPEG)
		return false;
	jpeg_visit(decoder->jpeg);
	return true;
}

bool decoder_shrinks(const struct decoder *decoder)
{
	return decoder->format == FORMAT_JPEG;
}

void decoder_set_scale(struct decoder *decoder, unsigned scale)
{
	if (decoder_shrinks(decoder))
		jpeg_set_scale(decoder->jpeg, scale, &decoder->header);
}

void decoder_set_numbers(struct decoder *decoder)
{
	decoder->input.numbers = true;
}

int decoder_read(struct decoder *decoder, struct rect need, struct image *out, struct fault *fault)
{
	struct turn turn = turn_of(decoder->header.orientation);
	struct rect part = turn_rect(&turn, &decoder->header, need);
	struct image image;
	decoder->input.start_ns = clock_thread_ns();
	int r;
	switch (decoder->format) {
	case FORMAT_JPEG:
		r = jpeg_read(decoder->jpeg, part, &decoder->pixels, &image, fault);
		break;
	case FORMAT_PNG:
		r = png_read(&decoder->input, &decoder->arena, part, &decoder->row,
			     &decoder->pixels, &image, fault);
		break;
	case FORMAT_WEBP:
		r = webp_read(&decoder->input, part, &decoder->pixels, &image, fault);
		break;
	default:
		return fault_say(fault, -EINVAL, "no image has been begun");
	}
	if (r == 0 && decoder->header.orientation != 1)
		r = decoder_turn(decoder, &turn, part, need, &image, fault);
	if (r == 0)
		*out = image;
	return r;
}
