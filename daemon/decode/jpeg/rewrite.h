/* SPDX-License-Identifier: MIT */
/*
 * A JPEG that can have no seek index (progressive, arithmetic, several scans, restart intervals),
 * rewritten as one that can: one scan of Huffman codes. The coefficients stay as they are, so
 * the pixels do, too. Of the markers only the EXIF orientation is kept. A worker's thread; called
 * where errors of libjpeg are caught, as they are how both calls below fail.
 */
#ifndef STOKER_DECODE_JPEG_REWRITE_H
#define STOKER_DECODE_JPEG_REWRITE_H

#include <stdbool.h>
#include <stdio.h> /* jpeglib.h needs it */

#include <jpeglib.h>

#include "base/buffer.h"

struct rewrite {
	struct jpeg_compress_struct cinfo;
	struct jpeg_destination_mgr destination;
};
#define REWRITE_NULL ((struct rewrite){0})

/* Is the file, of which the header has been read, one that has to be rewritten? */
bool rewrite_helps(const struct jpeg_decompress_struct *from);

/*
 * Read all of the file `from` and write it to `out`, which has room for it. 0, or DECODE_E_CORRUPT:
 * it is cut short, or libjpeg warns, or would smooth its blocks, so its pixels would change.
 */
int rewrite_run(struct rewrite *rewrite, struct jpeg_decompress_struct *from, unsigned orientation,
		struct buffer *out);
void rewrite_deinit(struct rewrite *rewrite); /* also after an error */

#endif
