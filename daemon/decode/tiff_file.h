/* SPDX-License-Identifier: MIT */
/*
 * A TIFF in memory, opened by libtiff with a limit on what it allocates at once. What libtiff says
 * goes nowhere but into the first words of `words`. One thread at a time. Knows no pixels.
 */
#ifndef STOKER_DECODE_TIFF_FILE_H
#define STOKER_DECODE_TIFF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tiffio.h>

struct arena;

struct tiff_file {
	const uint8_t *data; /* borrowed until TIFFClose() */
	uint64_t size, at;
	char words[120]; /* libtiff's first error */
};

/* At its first page; NULL: damaged, or there is no memory. TIFFClose() ends it; `file` must not
 * move before. Pixels that are not compressed are found by their offsets alone, as in Pillow: where
 * libtiff wants more, it gets a copy of the file, from the arena, that has it. */
TIFF *tiff_file_open(struct tiff_file *file, const uint8_t *data, size_t size, struct arena *arena);
/* The first number of a tag of the first page, as the file has it. False if there is none. */
bool tiff_file_tag(const struct tiff_file *file, uint16_t tag, uint32_t *out);

/* Count of the tag's numbers; 0: there is no such tag. */
uint64_t tiff_file_count(const struct tiff_file *file, uint16_t tag);

#endif
