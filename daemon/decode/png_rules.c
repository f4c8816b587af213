// SPDX-License-Identifier: MIT
#include "decode/png_rules.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <zlib.h>

#include "base/quote.h"
#include "decode/decode.h"
#include "decode/png_file.h"

#define UNPACKED_BYTES ((size_t)1 << 20) /* of one text or profile, for Pillow */
#define FRAMES_MAX 0x80000000u

static uint32_t number_at(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int refuse(const struct png_chunk *chunk, const char *what, struct fault *fault)
{
	struct quote type;
	return fault_say(fault, DECODE_E_CORRUPT, "PNG: %s in the chunk %s", what,
			 quote_bytes(&type, chunk->type, sizeof(chunk->type)));
}

/* --- lengths --- */

static int check_length(const struct png_chunk *chunk, struct fault *fault)
{
	static const struct {
		const char *type;
		uint32_t bytes;
	} least[] = {{"IHDR", 13}, {"gAMA", 4}, {"cHRM", 32}, {"sRGB", 1},
		     {"pHYs", 9},  {"acTL", 8}, {"fcTL", 26}, {"fdAT", 4}};
	for (size_t i = 0; i < sizeof(least) / sizeof(*least); i++)
		if (png_chunk_is(chunk, least[i].type) && chunk->bytes < least[i].bytes)
			return refuse(chunk, "too few bytes", fault);
	return 0;
}

/* --- what is packed --- */

/* Check that zlib makes no more than Pillow takes of it. Damaged data counts as empty. */
static int check_unpacked(const struct png_chunk *chunk, size_t from, struct fault *fault)
{
	uint8_t part[4096];
	z_stream stream = {.next_in = (Bytef *)(uintptr_t)(chunk->content + from),
			   .avail_in = (uInt)(chunk->bytes - from)};
	size_t bytes = 0;
	int r = inflateInit(&stream);
	if (r != Z_OK)
		return fault_say(fault, -ENOMEM, "out of memory while decoding");
	while (r == Z_OK && bytes < UNPACKED_BYTES && stream.avail_in > 0) {
		stream.next_out = part;
		stream.avail_out = sizeof(part);
		r = inflate(&stream, Z_SYNC_FLUSH);
		bytes += sizeof(part) - stream.avail_out;
	}
	bool more = r == Z_OK && stream.avail_in > 0;
	inflateEnd(&stream);
	return more ? fault_say(fault, DECODE_E_LIMIT,
				"PNG: a profile or text of more than %s bytes, unpacked",
				quote_number(UNPACKED_BYTES).text)
		    : 0;
}

/* Find the bytes behind the next NUL; the chunk's end if there is none. */
static size_t behind_nul(const struct png_chunk *chunk, size_t from)
{
	size_t left = chunk->bytes - from;
	const uint8_t *nul = left ? memchr(chunk->content + from, 0, left) : NULL;
	return nul ? (size_t)(nul - chunk->content) + 1 : chunk->bytes;
}

static int check_profile(const struct png_chunk *chunk, struct fault *fault)
{
	bool named = chunk->bytes && memchr(chunk->content, 0, chunk->bytes);
	size_t method = named ? behind_nul(chunk, 0) : 0;
	if (method >= chunk->bytes)
		return refuse(chunk, "no profile", fault);
	if (chunk->content[method] != 0)
		return refuse(chunk, "an unknown compression", fault);
	return check_unpacked(chunk, method + 1, fault);
}

static int check_packed_text(const struct png_chunk *chunk, struct fault *fault)
{
	size_t method = behind_nul(chunk, 0);
	if (method >= chunk->bytes)
		return 0;
	if (chunk->content[method] != 0)
		return refuse(chunk, "an unknown compression", fault);
	return check_unpacked(chunk, method + 1, fault);
}

static int check_wide_text(const struct png_chunk *chunk, struct fault *fault)
{
	size_t at = behind_nul(chunk, 0), left = chunk->bytes - at;
	if (left < 2 || chunk->content[at] == 0 || chunk->content[at + 1] != 0)
		return 0;
	at = behind_nul(chunk, at + 2); /* the language */
	if (chunk->content[at - 1] != 0)
		return 0;
	at = behind_nul(chunk, at); /* the key, translated */
	return chunk->content[at - 1] == 0 ? check_unpacked(chunk, at, fault) : 0;
}

static int check_text(const struct png_chunk *chunk, struct fault *fault)
{
	return png_chunk_is(chunk, "iCCP")   ? check_profile(chunk, fault)
	       : png_chunk_is(chunk, "zTXt") ? check_packed_text(chunk, fault)
	       : png_chunk_is(chunk, "iTXt") ? check_wide_text(chunk, fault)
					     : 0;
}

/* --- animations --- */

static int take_number(struct png_rules *rules, const struct png_chunk *chunk, struct fault *fault)
{
	uint32_t number = number_at(chunk->content);
	if (rules->counting ? number != rules->number + 1u : number != 0)
		return refuse(chunk, "a part of an animation out of order", fault);
	rules->counting = true;
	rules->number = number;
	return 0;
}

/* A second announcement takes the first one back. */
static void take_announcement(struct png_rules *rules, const struct png_chunk *chunk)
{
	rules->frames = number_at(chunk->content);
	rules->announced = !rules->announced && rules->frames && rules->frames <= FRAMES_MAX;
}

static int take_frame(struct png_rules *rules, const struct png_chunk *chunk, struct fault *fault)
{
	uint64_t width = number_at(chunk->content + 4), height = number_at(chunk->content + 8);
	uint64_t x = number_at(chunk->content + 12), y = number_at(chunk->content + 16);
	int r = take_number(rules, chunk, fault);
	if (r == 0 && (x + width > rules->width || y + height > rules->height))
		r = refuse(chunk, "a frame beyond the picture", fault);
	if (r == 0 && !rules->behind && (width != rules->width || height != rules->height))
		r = fault_say(fault, DECODE_E_UNSUPPORTED,
			      "PNG: the first frame of the animation is a part of the picture: "
			      "convert the file");
	return r;
}

static int take_part(struct png_rules *rules, const struct png_chunk *chunk, struct fault *fault)
{
	if (!rules->counting)
		return refuse(chunk, "a part of an animation out of order", fault);
	if (!rules->behind)
		return fault_say(fault, DECODE_E_UNSUPPORTED,
				 "PNG: an animation before the picture: convert the file");
	return take_number(rules, chunk, fault);
}

static int check_animation(struct png_rules *rules, const struct png_chunk *chunk,
			   struct fault *fault)
{
	if (png_chunk_is(chunk, "acTL"))
		take_announcement(rules, chunk);
	return png_chunk_is(chunk, "fcTL")   ? take_frame(rules, chunk, fault)
	       : png_chunk_is(chunk, "fdAT") ? take_part(rules, chunk, fault)
					     : 0;
}

int png_rules_take(struct png_rules *rules, const struct png_chunk *chunk, struct fault *fault)
{
	int r = check_length(chunk, fault);
	r = r ? r : check_text(chunk, fault);
	return r ? r : check_animation(rules, chunk, fault);
}

bool png_rules_animated(const struct png_rules *rules)
{
	/* Without a frame before it the picture is none of the animation's. */
	return rules->announced && (rules->frames > 1 || !rules->counting);
}
