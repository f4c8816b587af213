/* SPDX-License-Identifier: MIT */
/*
 * Staging: bytes of remote objects that were read for a sample, kept on the local disk so that each
 * is fetched once for all streams, trainers and runs of the daemon. An item is one range of one
 * version of one object: what a sample needs, no more; or a piece of a packed shard, unpacked. An
 * origin is a folder of objects as a user names it; a set is one dataset that reads.
 *
 * A file for each item (stage_file.h), so what is kept outlives the daemon, and a kill at any
 * moment leaves whole files and temporary ones, which stage_new() removes. The budget counts what a
 * file takes before it is written; files that give way to it are deleted before that, but for those
 * that another thread is deleting. A file that cannot be written is not missed: the reader has its
 * bytes.
 *
 * What gives way is what is needed last (cache/forecast.h), see stage_victim.h. With one stream
 * nothing gives way to its own, since every use is an epoch from the next. What is pinned gives way
 * to nothing but the limits; all of it has at most half of the budget, so that others keep theirs.
 *
 * Any thread; one lock, never held while a file is touched. Reads and writes files, so the loop
 * calls only what says so. Asks nobody for rights: who reads has proven them to the storage before,
 * and the version that it was told there is part of an item. Knows no server and no URL.
 */
#ifndef STOKER_STAGE_STAGE_H
#define STOKER_STAGE_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/fault.h"
#include "cache/forecast.h"

enum {
	STAGE_E_SYSTEM = 1, /* a system call failed */
	STAGE_E_NOTHING,    /* nothing is kept that could be pinned */
	STAGE_E_LIMIT,	    /* more would be pinned than may be */
};

struct stage;
struct stage_set;

/* Bytes of all files, and of the file system that stay free; how many files, each of which takes
 * memory (0: STAGE_ENTRIES_MAX). */
struct stage_limits {
	uint64_t size, spare;
	uint64_t items;
};
#define STAGE_ENTRIES_MAX ((size_t)1 << 22)
#define STAGE_ENTRY_BYTES 128 /* of memory, with its places in tables */

/* Take what an earlier daemon left in the folder, whose descriptor is taken over. Blocks. 0,
 * STAGE_E_SYSTEM or -ENOMEM; on failure the descriptor is closed, too. */
int stage_new(struct stage **out, int folder, const struct stage_limits *limits,
	      struct fault *fault);
void stage_free(struct stage *stage); /* all sets are closed; NULL will do */

void stage_set_limits(struct stage *stage, const struct stage_limits *limits); /* the loop, too */
/* Give back what is above the limits, and what was dropped. Blocks. */
void stage_trim(struct stage *stage);
/* May stage_trim() have anything to do? Whether the file system has too little room it looks
 * itself: that may block. The loop, too. */
bool stage_has_work(struct stage *stage);
/* All that is kept goes, by stage_trim(). The loop, too. */
void stage_drop(struct stage *stage);

struct stage_totals {
	uint64_t limit, spare, bytes, items;
	uint64_t pinned;	  /* of the bytes */
	uint64_t hits, hit_bytes; /* taken from the disk */
	uint64_t fetched_bytes;	  /* read for samples from servers */
	uint64_t replaced;	  /* items that gave way */
	uint64_t full;		  /* items that were not kept for lack of room */
	uint64_t damaged;	  /* files whose checksum was wrong: fetched again */
	uint64_t failed;
	int error;   /* files that could not be written, and the last errno */
	int refusal; /* the same, 0 after one that could be */
};
struct stage_totals stage_totals(struct stage *stage); /* the loop, too */

/* -- who reads; the loop, too -- */

int stage_set_new(struct stage_set **out, struct stage *stage, unsigned user); /* 0 or -ENOMEM */
struct stage_set *stage_set_hold(struct stage_set *set);		       /* NULL gives NULL */
void stage_set_close(struct stage_set *set);				       /* NULL will do */
/* Courses of the streams that fetch the set's samples; updated each second, and as they fetch. */
struct courses *stage_set_courses(struct stage_set *set);
struct stage *stage_of_set(const struct stage_set *set);
/* Totals of a set: items kept that it used last, and how often it took anything from the disk. */
struct stage_set_totals {
	uint64_t items, bytes, hits;
	uint64_t pinned; /* of the bytes */
};
struct stage_set_totals stage_set_totals(struct stage_set *set);
/* Drop, by stage_trim(), and unpin what is kept of the origins that it reads. */
void stage_set_drop(struct stage_set *set);
/* Pin these origins, or do not; stage_trim() makes it outlive the daemon. 0, STAGE_E_NOTHING or
 * STAGE_E_LIMIT. */
int stage_set_pin(struct stage_set *set, bool pinned, struct fault *fault);
void stage_unpin(struct stage *stage); /* all of them */

/* Ranges of an object that lie beside each other, each of one sample, in their order. */
#define STAGE_BESIDE_MAX 32
struct stage_beside {
	uint64_t sample; /* of the first range, by the set's courses; the next one's is one more */
	unsigned count, own;
	struct stage_range {
		uint64_t offset, length;
	} range[STAGE_BESIDE_MAX];
};

/* Purpose of the reads of this thread, from now on; NULL: for no sample, so nothing is kept. */
struct stage_use {
	struct stage_set *set; /* borrowed */
	uint64_t sample;       /* by its courses */
	const struct stage_beside *beside;
};
void stage_use_set(struct stage_set *set, uint64_t sample);
/* Beside what is read next, the range `own` of these, lie the others; borrowed until the use ends
 * or this is said again. NULL: nothing is known of them. */
void stage_use_beside(const struct stage_beside *beside);
/* Counts of these reads: those that found what they wanted on the disk, and the others. */
struct stage_reads {
	uint32_t hits, misses;
};
/* No more reads for it; what there was is added to `reads`. */
void stage_use_end(struct stage_reads *reads);
void stage_use_count(bool hit);		     /* one read of this thread is done */
const struct stage_use *stage_use_now(void); /* NULL: nothing is staged */

/* -- items -- */

struct stage_version {
	uint64_t words[5]; /* equal of equal versions alone */
};

struct stage_item {
	struct digest origin, object; /* by stage_name(); the second of object and range */
	struct stage_version version;
};

/* A keyed hash of a text and two numbers: nobody else can tell from it what it was. 0 or -ENOMEM.
 */
int stage_name(const struct stage *stage, const char *text, uint64_t a, uint64_t b,
	       struct digest *out);

/* Is the object's range kept, of whatever version? */
bool stage_has(struct stage *stage, const struct digest *object);
/* The item's bytes, at most max_bytes, if it is kept. */
enum stage_found {
	STAGE_NONE,
	STAGE_KEPT,
	STAGE_FRESH, /* it was fetched ahead for this use, the first: no hit */
};
enum stage_found stage_find(const struct stage_use *use, const struct stage_item *item,
			    uint64_t max_bytes, struct buffer *buffer, uint64_t now_ns);
/* Claim the fetch of a range. True: the caller does, then says stage_end_fetch(). False: another
 * thread did, and has done so now; stage_claim_fetch_ahead() does not wait for that. */
bool stage_claim_fetch(struct stage *stage, const struct digest *object);
bool stage_claim_fetch_ahead(struct stage *stage, const struct digest *object);
void stage_end_fetch(struct stage *stage, const struct digest *object);
/* Remove the item, if it is kept: it is of use to nobody. */
void stage_remove(struct stage *stage, const struct stage_item *item);
/* Keep what was fetched, if it is worth it. */
void stage_keep(const struct stage_use *use, const struct stage_item *item,
		const struct buffer *bytes, uint64_t now_ns);
/* May this many bytes of an item be fetched ahead? Not if it is kept, in whatever version, if there
 * is no room, or if the set is too far ahead of what its streams read. True: the room is the
 * item's, the caller says stage_keep_ahead() with so many bytes; NULL gives the room back. */
bool stage_book_ahead(const struct stage_use *use, const struct stage_item *item, uint64_t bytes,
		      uint64_t now_ns);
void stage_keep_ahead(const struct stage_use *use, const struct stage_item *item, uint64_t booked,
		      const struct buffer *bytes, uint64_t now_ns);

#endif
