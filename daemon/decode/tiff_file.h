/* SPDX-License-Identifier: MIT */
/*
 * A TIFF in memory, opened by libtiff with a limit on what it allocates at once. What libtiff says
 * goes nowhere but into the first words of `words`. One thread at a time. Knows no pixels.
 */
#ifndef STOKER_DECODE_TIFF_FILE_H
#define STOKER_DECODE_TIFF_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <tiffio.h>

struct tiff_file {
	const uint8_t *data; /* borrowed until TIFFClose() */
	uint64_t size, at;
	char words[120]; /* libtiff's first error */
};

/* At its first page; NULL: damaged, or there is no memory. TIFFClose() ends it; `file` must not
 * move before. */
TIFF *tiff_file_open(struct tiff_file *file, const uint8_t *data, size_t size);

#endif
