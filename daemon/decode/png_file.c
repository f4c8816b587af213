// SPDX-License-Identifier: MIT
#include "decode/png_file.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <zlib.h>

#include "base/quote.h"
#include "decode/arena.h"
#include "decode/decode.h"

#define HEAD 8		    /* length and type of a chunk */
#define OVERHEAD 12	    /* ... and checksum */
#define HEADER_BYTES 13	    /* of its content */
#define PALETTE_COLOURS 256 /* Pillow refuses more, but not a part of one more */
#define PIECE_BYTES 65536   /* Pillow hands so many to zlib at a time */

static uint32_t number_at(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

bool png_file_next(const struct png_file *file, size_t *at, struct png_chunk *out)
{
	if (*at > file->size || file->size - *at < HEAD)
		return false;
	const uint8_t *head = file->data + *at;
	*out = (struct png_chunk){head + HEAD, number_at(head), file->size - *at - HEAD, {0}};
	memcpy(out->type, head + 4, sizeof(out->type));
	for (unsigned i = 0; i < sizeof(out->type); i++)
		if (!isalnum(head[4 + i]) && head[4 + i] != '_')
			return false;
	*at += HEAD + out->bytes + (OVERHEAD - HEAD);
	return true;
}

static bool chunk_is_complete(const struct png_chunk *chunk)
{
	return chunk->bytes <= chunk->left;
}

static bool chunk_has_right_sum(const struct png_chunk *chunk)
{
	if (chunk->left - chunk->bytes < OVERHEAD - HEAD)
		return false;
	uLong sum = crc32(0, (const uint8_t *)chunk->type, sizeof(chunk->type));
	return crc32(sum, chunk->content, chunk->bytes) == number_at(chunk->content + chunk->bytes);
}

static int chunk_fault(const struct png_chunk *chunk, const char *what, struct fault *fault)
{
	struct quote type;
	return fault_say(fault, DECODE_E_CORRUPT, "PNG: %s of the chunk %s", what,
			 quote_bytes(&type, chunk->type, sizeof(chunk->type)));
}

/* Keep a chunk; the second one of a kind replaces the first. */
static void png_file_keep(struct png_file *file, const struct png_chunk *chunk)
{
	if (png_chunk_is(chunk, "PLTE")) {
		file->palette = chunk->content;
		file->palette_bytes = chunk->bytes;
	} else if (png_chunk_is(chunk, "tRNS")) {
		file->alpha = chunk->content;
		file->alpha_bytes = chunk->bytes;
	}
}

static bool png_file_is_indexed(const struct png_file *file)
{
	return file->data[PNG_FILE_COLOUR_TYPE] == 3;
}

/* One colour that is transparent, and the others not: Pillow fails where there is no palette. */
static bool png_file_lacks_palette(const struct png_file *file)
{
	unsigned clear = 0, opaque = 0;
	for (uint32_t i = 0; i < file->alpha_bytes; i++) {
		clear += file->alpha[i] == 0;
		opaque += file->alpha[i] == 255;
	}
	return png_file_is_indexed(file) && !file->palette && clear == 1 &&
	       clear + opaque == file->alpha_bytes;
}

/* Check the chunks before the pixels against each other. */
static int png_file_check_colours(const struct png_file *file, struct fault *fault)
{
	uint8_t type = file->data[PNG_FILE_COLOUR_TYPE];
	if (file->alpha && file->alpha_bytes < (type == 0 ? 2 : type == 2 ? 6 : 0))
		return fault_say(fault, DECODE_E_CORRUPT,
				 "PNG: cut short: the content of the chunk tRNS");
	if (png_file_is_indexed(file) && file->palette_bytes / 3 > PALETTE_COLOURS)
		return fault_say(fault, DECODE_E_CORRUPT, "PNG: a palette of more than %d colours",
				 PALETTE_COLOURS);
	if (png_file_lacks_palette(file))
		return fault_say(fault, DECODE_E_CORRUPT,
				 "PNG: a transparent colour of a palette that is not there");
	return 0;
}

/* A chunk before the pixels. */
static int png_file_take(struct png_file *file, const struct png_chunk *chunk, struct fault *fault)
{
	if (!chunk_is_complete(chunk))
		return chunk_fault(chunk, "cut short: the content", fault);
	if (!chunk_has_right_sum(chunk))
		return chunk_fault(chunk, "wrong checksum", fault);
	if (png_chunk_is(chunk, "IHDR") && file->pixels > PNG_FILE_FIRST)
		return fault_say(fault, DECODE_E_CORRUPT, "PNG: two headers");
	png_file_keep(file, chunk);
	return png_rules_take(&file->rules, chunk, fault);
}

int png_file_open(struct png_file *out, const uint8_t *data, size_t size, struct fault *fault)
{
	struct png_file file = {.data = data, .size = size, .pixels = PNG_FILE_FIRST};
	struct png_chunk chunk;
	int r = 0;
	file.rules.width = number_at(data + PNG_FILE_FIRST + HEAD);
	file.rules.height = number_at(data + PNG_FILE_FIRST + HEAD + 4);
	for (size_t at = file.pixels; r == 0; file.pixels = at) {
		if (!png_file_next(&file, &at, &chunk))
			return fault_say(fault, DECODE_E_CORRUPT,
					 "PNG: damaged or cut short after %s bytes",
					 quote_number(file.pixels).text);
		if (png_chunk_is(&chunk, "IDAT"))
			break;
		if (png_chunk_is(&chunk, "IEND"))
			return fault_say(fault, DECODE_E_CORRUPT, "PNG: the file has no pixels");
		r = png_file_take(&file, &chunk, fault);
	}
	r = r ? r : png_file_check_colours(&file, fault);
	if (r == 0)
		*out = file;
	return r;
}

/* Find out whether the pixels end in the chunks before `end`. */
static int pixels_end_before(const struct png_file *file, size_t end, bool *out)
{
	uint8_t part[4096];
	z_stream stream = {0};
	struct png_chunk chunk;
	int r = inflateInit(&stream);
	if (r != Z_OK)
		return -ENOMEM;
	for (size_t at = file->pixels; at < end && png_file_next(file, &at, &chunk);) {
		stream.next_in = (Bytef *)(uintptr_t)chunk.content;
		stream.avail_in = (uInt)chunk.bytes;
		while (r == Z_OK && stream.avail_in > 0) {
			stream.next_out = part;
			stream.avail_out = sizeof(part);
			r = inflate(&stream, Z_SYNC_FLUSH);
		}
	}
	inflateEnd(&stream);
	*out = r == Z_STREAM_END;
	return 0;
}

/* A chunk of pixels that is cut short was needed as far as it goes, or is one too many. */
static int png_file_check_cut_pixels(const struct png_file *file, size_t begin, bool behind,
				     const struct png_chunk *chunk, struct fault *fault)
{
	bool ended = behind;
	int r = behind ? 0 : pixels_end_before(file, begin, &ended);
	if (r)
		return fault_say(fault, r, "out of memory while decoding");
	return ended ? chunk_fault(chunk, "cut short: the content", fault) : 0;
}

int png_file_check_end(const struct png_file *file, struct fault *fault)
{
	struct png_rules rules = file->rules;
	bool animated = png_rules_animated(&rules);
	struct png_chunk chunk;
	int r = 0;
	for (size_t at = file->pixels, begin = at; r == 0 && png_file_next(file, &at, &chunk);
	     begin = at) {
		bool pixels = png_chunk_is(&chunk, "IDAT");
		if (png_chunk_is(&chunk, "IEND") || (animated && png_chunk_is(&chunk, "fcTL")))
			break;
		if (pixels && !chunk_is_complete(&chunk))
			return png_file_check_cut_pixels(file, begin, rules.behind, &chunk, fault);
		rules.behind = rules.behind || !pixels;
		r = !chunk_is_complete(&chunk)
			    ? chunk_fault(&chunk, "cut short: the content", fault)
			    : png_rules_take(&rules, &chunk, fault);
	}
	return r;
}

static uint8_t *number_write(uint8_t *to, uint32_t number)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		*to++ = (uint8_t)(number >> shift);
	return to;
}

static uint8_t *chunk_write(uint8_t *to, const char *type, const uint8_t *content, size_t bytes)
{
	to = number_write(to, (uint32_t)bytes);
	memcpy(to, type, 4);
	if (bytes > 0)
		memcpy(to + 4, content, bytes);
	return number_write(to + 4 + bytes, (uint32_t)crc32(0, to, (uInt)(4 + bytes)));
}

const uint8_t *png_file_rebuild(const struct png_file *file, struct arena *arena, size_t *size_out)
{
	size_t most = file->size + (file->size / PIECE_BYTES + 2) * OVERHEAD;
	uint8_t *data = arena_take(arena, most), *to = data;
	if (!data)
		return NULL;
	memcpy(to, file->data, PNG_FILE_FIRST);
	to = chunk_write(to + PNG_FILE_FIRST, "IHDR", file->data + PNG_FILE_FIRST + HEAD,
			 HEADER_BYTES);
	size_t colours = file->palette_bytes / 3;
	if (png_file_is_indexed(file) && colours > 0)
		to = chunk_write(to, "PLTE", file->palette, colours * 3);
	else if (png_file_is_indexed(file)) /* a missing colour is grey: the first one is black */
		to = chunk_write(to, "PLTE", (const uint8_t[3]){0}, 3);
	struct png_chunk chunk;
	for (size_t at = file->pixels; png_file_next(file, &at, &chunk);) {
		if (!png_chunk_is(&chunk, "IDAT"))
			break;
		size_t left = chunk.bytes < chunk.left ? chunk.bytes : chunk.left;
		for (const uint8_t *from = chunk.content; left > 0;) {
			size_t bytes = left < PIECE_BYTES ? left : PIECE_BYTES;
			to = chunk_write(to, "IDAT", from, bytes);
			from += bytes;
			left -= bytes;
		}
	}
	to = chunk_write(to, "IEND", NULL, 0);
	*size_out = (size_t)(to - data);
	return data;
}
