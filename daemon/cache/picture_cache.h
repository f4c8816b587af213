/* SPDX-License-Identifier: MIT */
/*
 * Pictures kept as they were decoded: whole, RGB, before any crop, so that every stream, seed and
 * epoch of a dataset can use them; and rewritten files, of which a part is decoded quickly, which
 * takes less memory. A cache has the budget (cache-memory); a set has the pictures
 * of one dataset, by sample. A picture belongs to one content of its file (struct stamp), one scale
 * of decoding, and to the EXIF orientation being applied or not; it is never returned for another.
 *
 * Memory: anonymous, a mapping for each picture, taken when it is filled (from pages that are got
 * ahead, page_stock.h, where the budget has room for both) and given back to the system when it is
 * dropped. A picture above a sixteenth of the budget is not kept. Not charged: a
 * table of 9 bytes a sample, of which the system gives the pages that are used.
 *
 * When the budget is used up, a picture is replaced by one that saves more time for its memory, or
 * by one that is needed sooner (forecast.h): by a worker with time to spare, as that costs
 * nothing; else only if it is needed so often before the other that this exceeds the cost of the
 * fill. With one stream nothing is gained by it, and nothing is replaced.
 *
 * Of several users the one whose pictures take the most makes room for another's, whatever they are
 * worth (picture_owner.h); else each replaces its own.
 *
 * A picture in somebody's hands is pinned; one that is dropped meanwhile is freed with its last
 * pin. Any thread. One lock, never held while memory is mapped or unmapped; what may take long says
 * so. Knows no file, no format, no stream.
 */
#ifndef STOKER_CACHE_PICTURE_CACHE_H
#define STOKER_CACHE_PICTURE_CACHE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/image.h"
#include "base/list.h"
#include "base/stamp.h"
#include "cache/forecast.h"
#include "cache/page_stock.h"
#include "cache/picture_owner.h"
#include "cache/victims.h"

struct picture_set;

struct picture_cache {
	_Atomic uint64_t limit; /* bytes; 0: no picture is kept */
	_Atomic uint64_t bytes, pictures, files;
	_Atomic uint64_t hits, fills, file_hits;
	_Atomic uint64_t replaced; /* pictures and files that gave way to others */
	_Atomic uint64_t samples;  /* of all open sets */
	_Atomic uint64_t full;	   /* pictures that were decoded and not kept for lack of room */
	pthread_mutex_t lock;
	struct list sets;
	struct picture_owners owners;
	struct page_stock stock;
};

void picture_cache_init(struct picture_cache *cache, uint64_t limit);
void picture_cache_deinit(struct picture_cache *cache); /* all sets are closed */

/* From now on; what is above it goes by picture_cache_trim(). */
void picture_cache_set_limit(struct picture_cache *cache, uint64_t limit);
/* Give back what is above the limit, and all that closed sets had. May take long: to unmap a
 * gigabyte takes a tenth of a second. */
void picture_cache_trim(struct picture_cache *cache);

/* Make a set of `user`, whoever holds it later. 0 or -ENOMEM. */
int picture_set_new(struct picture_set **out, struct picture_cache *cache, unsigned user,
		    uint64_t samples);
/* The set, held once more: each holder closes it. NULL gives NULL. */
struct picture_set *picture_set_hold(struct picture_set *set);
unsigned picture_set_user(const struct picture_set *set);
uint64_t picture_set_samples(const struct picture_set *set);
/* Close the set for one of its users; after the last one picture_cache_trim() frees it. */
void picture_set_close(struct picture_set *set);

/* Totals of one set: pictures that can be found, and how often one was. */
struct picture_totals {
	uint64_t pictures, files, bytes, hits;
};
struct picture_totals picture_set_totals(struct picture_set *set);

/* All that it has goes, by picture_cache_trim(). */
void picture_set_drop(struct picture_set *set);

struct picture_key {
	uint64_t sample;
	struct stamp stamp;
	bool file;	/* a rewritten file, and not pixels */
	unsigned scale; /* of pixels: decoded at 1/scale of the size */
	bool exif;
};

struct cached_picture {
	struct picture_key key;
	struct buffer memory; /* the pixels, or the file's bytes; not buffer_reserve()'s */
	/* Of pixels: */
	int32_t width, height; /* at scale 1, oriented */
	bool scales;	       /* it can be decoded at other scales */
	bool alpha;	       /* the file has an alpha, which is not kept */
	struct image image;    /* shows them */

	/* The set's: */
	struct picture_set *set;
	struct list link; /* of the set; empty: it was dropped, or never kept */
	struct victim victim;
	struct cached_picture *next; /* of the same sample */
	unsigned pins;
};

/* Has the sample a picture? A quick look, without the lock, before its file is looked at. */
bool picture_set_has(const struct picture_set *set, uint64_t sample);
/* The picture or file, pinned, or NULL. `any`: pixels at whatever scale, and if there are none, the
 * rewritten file. */
struct cached_picture *picture_set_find(struct picture_set *set, const struct picture_key *key,
					bool any);
/* Count a use in place of the file, and find out when the picture is needed next. */
void picture_hit(struct cached_picture *picture, uint64_t now_ns);
/* Accepts NULL. Any thread. */
void picture_unpin(struct cached_picture *picture);

/* Is this within the part of the budget that each sample of the user's can have? If not, it is
 * better to keep many files than few pictures. */
bool picture_set_affords(const struct picture_set *set, size_t bytes);

/* Courses of the streams that show the set's samples; updated each second, and as they are shown.
 */
struct courses *picture_set_courses(struct picture_set *set);

/* Worth of a picture: the time that it saves for its memory; each row some times that before it. */
enum picture_worth {
	PICTURE_OF_INDEXED, /* a seek index is the alternative; a fill costs about what a hit saves
			     */
	PICTURE_OF_SLOW,    /* to decode all of the file, which a fill does, too */
	PICTURE_FILE,	    /* a rewritten file; a fill costs twice what a hit saves */
};

/* A sample's file is about to be decoded. */
struct picture_use {
	bool keep;	/* worth it: at the first use of a quarter of the samples only, unless a
			 * worker has time to spare */
	bool idle;	/* it has not */
	bool room_only; /* nothing of the same owner gives way */
	uint64_t now_ns;
	struct forecast forecast;
};
struct picture_use picture_set_use(struct picture_set *set, uint64_t sample, bool idle,
				   uint64_t now_ns);

/* Is anything kept in memory at present? */
bool picture_set_is_on(const struct picture_set *set);
/* Is there room for so many bytes, or something to replace? */
bool picture_set_has_room(struct picture_set *set, size_t bytes, enum picture_worth worth,
			  const struct picture_use *use);
/* Memory for a picture, touched and pinned; `memory` has room for the pixels. NULL: there is no
 * room for it, it is too large, there is one, or it was refused. */
struct cached_picture *picture_set_take(struct picture_set *set, const struct picture_key *key,
					int32_t width, int32_t height, enum picture_worth worth,
					const struct picture_use *use);
/* Take memory for a rewritten file of so many bytes; `key` says that it is one. */
struct cached_picture *picture_set_take_file(struct picture_set *set, const struct picture_key *key,
					     size_t bytes, const struct picture_use *use);
/* Let others find it: its bytes are there, and if it is decoded `image` shows them. */
void picture_set_keep(struct cached_picture *picture);
/* The sample cannot be decoded whole; may it be tried? */
void picture_set_refuse(struct picture_set *set, uint64_t sample);
bool picture_set_wants_whole(const struct picture_set *set, uint64_t sample);
/* Note that a sample's file cannot be rewritten; and ask: may it be tried? */
void picture_set_refuse_file(struct picture_set *set, uint64_t sample);
bool picture_set_wants_file(const struct picture_set *set, uint64_t sample);
/* The sample's file is another one: drop all of its pictures. */
void picture_set_forget(struct picture_set *set, uint64_t sample);

#endif
