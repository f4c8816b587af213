/* SPDX-License-Identifier: MIT */
/*
 * Keeper: what is kept of a dataset's samples, in memory (cache/picture_cache.h) and on the disk
 * (picture_store.h), and how it is read. Pixels that are kept are read by a decoder like a file's:
 * codec_kept and codec_stored are the rows, selected by where the pixels are (decode/codec.h). What
 * is kept, and when, is decided by keep.h. Any thread; knows no dataset and no transform.
 */
#ifndef STOKER_STORE_KEEPER_H
#define STOKER_STORE_KEEPER_H

#include "base/buffer.h"
#include "cache/picture_cache.h"
#include "decode/codec.h"
#include "store/picture_store.h"

struct keeper {
	struct picture_set *pictures; /* in memory; NULL: nothing is kept */
	struct picture_store *disk;   /* on the disk, too; or NULL */
	bool room_only;		      /* nothing else gives way to what is kept */
};

enum kept_kind {
	KEPT_NOTHING,
	KEPT_IN_MEMORY, /* pixels */
	KEPT_ON_DISK,	/* pixels */
	KEPT_FILE,	/* a rewritten file */
};

/* Is something kept of the sample, perhaps? A quick look, before its file is looked at. */
bool keeper_may_have(const struct keeper *keeper, uint64_t sample);
/* Find what is kept of a sample's file, whose stamp is in `key`: pixels at any scale, if they will
 * do, else the rewritten file. What memory has is pinned in `*picture_out`, else that is NULL, and
 * a file was read from the disk into `file`. */
enum kept_kind keeper_find(const struct keeper *keeper, const struct picture_key *key, bool pixels,
			   struct cached_picture **picture_out, struct buffer *file);
/* Are pixels on the disk and worth reading? */
bool keeper_has_stored_pixels(const struct keeper *keeper, const struct picture_key *key);
/* Are they, or is a rewritten file? */
bool keeper_has_stored(const struct keeper *keeper, const struct picture_key *key);

struct stored_key keeper_stored_key(const struct picture_key *key);

/* State of a decoder that reads pixels which are kept. Its memory is the caller's. */
struct kept_view {
	const struct keeper *keeper;
	struct picture_key key;		/* of the pixels, at any scale */
	struct cached_picture *picture; /* codec_kept: they are here; pinned by the caller */
	bool idle;			/* the thread has time to fill the memory */
	/* The rows': */
	struct cached_picture *lent; /* to the decoder's user; pinned */
	struct stored_key stored;
	struct picture_file file; /* open */
};
void kept_view_init(struct kept_view *view); /* set the rows' members */

extern const struct codec codec_kept;	/* lends the memory of the pictures */
extern const struct codec codec_stored; /* may fill the memory from the disk */

#endif
