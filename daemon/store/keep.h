/* SPDX-License-Identifier: MIT */
/*
 * Keep: decides what is kept of a sample whose file has to be decoded, and keeps it: its pixels, in
 * memory (cache/picture_cache.h) or, where there is no room, on the disk (picture_store.h); or, of
 * a JPEG without a seek index, if the pixels of all samples would not fit, a rewritten file that
 * has one, in memory and on the disk. At the first use a quarter of the samples is kept, or all if
 * the thread has time to spare. Worker threads.
 */
#ifndef STOKER_STORE_KEEP_H
#define STOKER_STORE_KEEP_H

#include "store/keeper.h"

/* A use of one sample's file. */
struct keep {
	/* The caller's: */
	const struct keeper *keeper;
	struct decoder *decoder;	   /* the file is begun */
	struct buffer *rewritten, *pixels; /* scratch memory */
	struct picture_key key;		   /* of the file; no scale is known yet */
	int32_t width, height;		   /* of the picture */
	size_t file_bytes;		   /* of the file that was read */
	bool indexes;			   /* a seek index of the file would be kept */
	bool rewritten_before;		   /* the file is a rewritten one */
	bool idle;			   /* the thread has time to spare */
	/* keep_decide()'s: */
	struct picture_set *pictures; /* NULL: nothing is kept */
	struct picture_store *disk;   /* NULL: nothing there */
	struct picture_use use;
	struct stored_shape shape;
};

/* Decide whether something is kept at this use. */
void keep_decide(struct keep *keep);
/* Rewrite the file if that is worth it. The new file in memory, pinned, which has to be begun in
 * place of the other; NULL: there is none. */
struct cached_picture *keep_file(struct keep *keep);
/* Decode the whole picture at this scale if that is worth it. `out` shows it as long as
 * `*picture_out` is pinned or, if that is NULL, until the scratch memory is used again. */
bool keep_picture(const struct keep *keep, unsigned scale, struct image *out,
		  struct cached_picture **picture_out);

/* Write what memory has of a sample to the disk, too, if there is room for it. */
void keep_copy(const struct keeper *keeper, const struct cached_picture *picture);

#endif
