/* SPDX-License-Identifier: MIT */
/*
 * The JPEG seek indexes (seek_index.h) of one dataset, by sample, shared by all its streams. An
 * index belongs to one state of its file (struct stamp) and is never returned for another. All sets
 * together stay within one budget, those of a user within a share of it; an index is charged with
 * its final size from the start, and a sample for which there is no room has no index. Beside them
 * it keeps which files are sound.
 *
 * Lock-free, for any number of threads: an index that was found stays at its address until the set
 * is freed, and may be extended there. Knows no file and no image
 * format.
 */
#ifndef STOKER_DECODE_JPEG_SEEK_INDEX_SET_H
#define STOKER_DECODE_JPEG_SEEK_INDEX_SET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/stamp.h"
#include "decode/jpeg/seek_index.h"

/* The budget and counters that all sets share; outlives them. Any thread may read at any time. */
struct seek_index_budget {
	uint64_t limit; /* bytes; 0: no indexes */
	_Atomic uint64_t bytes;
	_Atomic uint64_t built, used;
	_Atomic uint64_t full; /* images decoded without an index for lack of room */
	_Atomic uint64_t refused[SEEK_INDEX_REASONS]; /* files, by SEEK_INDEX_E_... */
};

/* Share of one user in the budget: limit and use; outlives the sets that are charged to it. */
struct seek_index_share {
	_Atomic uint64_t limit, bytes;
};

struct seek_index_set;

/* NULL is a share without a limit. 0 or -ENOMEM. */
int seek_index_set_new(struct seek_index_set **out, struct seek_index_budget *account,
		       struct seek_index_share *share, uint64_t samples);
void seek_index_set_free(struct seek_index_set *set); /* no other call may be under way */

enum seek_index_set_answer {
	SEEK_INDEX_SET_NONE,  /* no index yet: build it */
	SEEK_INDEX_SET_INDEX, /* found */
	SEEK_INDEX_SET_NEVER, /* the file can have no index, or there is no room */
};

/* The index of a sample whose file has this stamp. The bytes live as long as the set. */
enum seek_index_set_answer seek_index_set_find(struct seek_index_set *set, uint64_t sample,
					       const struct stamp *stamp, const uint8_t **bytes_out,
					       size_t *size_out);
/*
 * Add a copy of an index, or merge it into the one with this stamp. seek_index_set_put() is for one
 * just built, and counts it; seek_index_set_load() is for one from outside, as
 * seek_index_set_each() passed it on: whether it is of the right file is checked when it is used.
 * False if nothing was added: there was one already, there is no room, or the bytes are no index.
 */
bool seek_index_set_put(struct seek_index_set *set, uint64_t sample, const struct stamp *stamp,
			const uint8_t *bytes, size_t size);
bool seek_index_set_load(struct seek_index_set *set, uint64_t sample, const struct stamp *stamp,
			 const uint8_t *bytes, size_t size);
/* Record why the file has no index, in place of what was there. */
void seek_index_set_refuse(struct seek_index_set *set, uint64_t sample, const struct stamp *stamp,
			   int reason);

/* 0 if the sample has an index, of so many bytes; SEEK_INDEX_E_... why it has none;
 * SEEK_INDEX_REASONS if nothing is known of it, for lack of room. */
int seek_index_set_verdict(struct seek_index_set *set, uint64_t sample, const struct stamp *stamp,
			   uint64_t *bytes_out);

/* Was the file found sound in this state: does all of it decode without an error? Kept for any
 * image format, in four bytes a sample, if there is room. */
bool seek_index_set_is_sound(struct seek_index_set *set, uint64_t sample,
			     const struct stamp *stamp);
void seek_index_set_found_sound(struct seek_index_set *set, uint64_t sample,
				const struct stamp *stamp);

/* `bytes` live for the call and may be copied. Any result but 0 stops the walk and is returned. */
typedef int seek_index_set_callback(void *context, uint64_t sample, const struct stamp *stamp,
				    const uint8_t *bytes, size_t size);
/* Call `each` for all indexes, as they are now, by sample. 0, its result, or -ENOMEM. */
int seek_index_set_each(const struct seek_index_set *set, seek_index_set_callback *each,
			void *context);
/* Counts the indexes added and extended. */
uint64_t seek_index_set_changes(const struct seek_index_set *set);

#endif
