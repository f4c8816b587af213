/* SPDX-License-Identifier: MIT */
/*
 * The chunks of a PNG, by Pillow's rules, which differ from libspng's: whether the file is damaged
 * outside its compressed pixels. Pure; any thread. Knows no libspng, and no pixel's colour.
 */
#ifndef STOKER_DECODE_PNG_FILE_H
#define STOKER_DECODE_PNG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/fault.h"
#include "decode/png_rules.h"

#define PNG_FILE_HEADER 33	/* bytes of signature and IHDR */
#define PNG_FILE_FIRST 8	/* where IHDR begins */
#define PNG_FILE_COLOUR_TYPE 25 /* where they have it */

struct arena;

/* A file whose bytes are borrowed. */
struct png_file {
	const uint8_t *data;
	size_t size;
	const uint8_t *palette, *alpha; /* contents of PLTE and tRNS, or NULL */
	uint32_t palette_bytes, alpha_bytes;
	size_t pixels;		/* offset of the first IDAT */
	struct png_rules rules; /* as they stand there */
};

struct png_chunk {
	const uint8_t *content;
	uint32_t bytes; /* as it claims */
	size_t left;	/* of the file, from the content on */
	char type[4];
};

/* Read the head of the chunk at *at, and move *at behind the chunk. False if there is none: the
 * file ends here, or this is no type. The first one lies at PNG_FILE_FIRST. */
bool png_file_next(const struct png_file *file, size_t *at, struct png_chunk *out);
static inline bool png_chunk_is(const struct png_chunk *chunk, const char *type)
{
	return memcmp(chunk->type, type, sizeof(chunk->type)) == 0;
}

/* Read the chunks before the pixels, in a file of at least PNG_FILE_HEADER bytes that begins with
 * IHDR. 0; DECODE_E_CORRUPT if one is cut short, has a wrong checksum or breaks a rule of
 * png_rules.h; or DECODE_E_UNSUPPORTED. */
int png_file_open(struct png_file *out, const uint8_t *data, size_t size, struct fault *fault);
/* Read the chunks after those of the pixels, which were complete: 0 or a condition. As in Pillow,
 * their checksums do not count. */
int png_file_check_end(const struct png_file *file, struct fault *fault);
/* Make a file of the same pixels with no chunk that they do not need, in which the last one is as
 * long as it claims and all checksums are right. From the arena; NULL if there is no memory. */
const uint8_t *png_file_rebuild(const struct png_file *file, struct arena *arena, size_t *size_out);

#endif
