/* SPDX-License-Identifier: MIT */
/*
 * The scan indexes (scan.h) of one dataset, by sample, for all of its streams and any number of
 * threads: no lock, what is found stays where it is until the store is freed, and may learn further
 * rows there. An index belongs to one state of its file and is never given out for another. All
 * stores together keep within one budget; an index is charged with its last size from the start,
 * and a sample for which there is no room is simply not remembered.
 *
 * Knows no file and no JPEG: an index is what scan.h makes of its bytes, or the reason why there is
 * none.
 */
#ifndef STOKER_DECODE_JPEG_SEEK_INDEX_SET_H
#define STOKER_DECODE_JPEG_SEEK_INDEX_SET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/stamp.h"
#include "decode/jpeg/seek_index.h"

/* What all stores have in common; outlives them. Anyone may look at any time. */
struct seek_index_account {
	uint64_t limit; /* bytes; 0: nothing is remembered */
	_Atomic uint64_t bytes;
	_Atomic uint64_t built, used;
	_Atomic uint64_t full;			      /* visits without an index for want of room */
	_Atomic uint64_t refused[SEEK_INDEX_REASONS]; /* files, by SEEK_INDEX_E_... */
};

struct seek_index_set;

int seek_index_set_new(struct seek_index_set **out, struct seek_index_account *account,
		       uint64_t samples);		       /* or -ENOMEM */
void seek_index_set_free(struct seek_index_set *seek_indexes); /* no other call may be under way */

enum seek_index_set_answer {
	SEEK_INDEX_SET_NONE,  /* not remembered yet: build it */
	SEEK_INDEX_SET_INDEX, /* there it is */
	SEEK_INDEX_SET_NEVER, /* no index for this file, or no room */
};

/* What is remembered of a sample whose file has this stamp. The bytes live as long as the store. */
enum seek_index_set_answer seek_index_set_find(struct seek_index_set *seek_indexes, uint64_t sample,
					       const struct stamp *stamp, const uint8_t **bytes_out,
					       size_t *size_out);
/*
 * Remember an index (copied), or what it knows beyond the one with this stamp that is there.
 * seek_index_set_put() is for one just made, and counts it; seek_index_set_load() for one that
 * comes from outside, as seek_index_set_each() gave it: one of another file is found out when it is
 * used. False if it is not new, or there is no room, or these bytes are none.
 */
bool seek_index_set_put(struct seek_index_set *seek_indexes, uint64_t sample,
			const struct stamp *stamp, const uint8_t *bytes, size_t size);
bool seek_index_set_load(struct seek_index_set *seek_indexes, uint64_t sample,
			 const struct stamp *stamp, const uint8_t *bytes, size_t size);
/* Remember why there is none, in place of what was there. */
void seek_index_set_refuse(struct seek_index_set *seek_indexes, uint64_t sample,
			   const struct stamp *stamp, int reason);

/* What is remembered of a sample: 0 if it is an index, of so many bytes; a reason why there is
 * none; SEEK_INDEX_REASONS if it is nothing, for want of room. */
int seek_index_set_verdict(struct seek_index_set *seek_indexes, uint64_t sample,
			   const struct stamp *stamp, uint64_t *bytes_out);

/* What `each` gets may be kept and moved; it lives for the call. Not 0: stop, and return it. */
typedef int seek_index_set_visit(void *context, uint64_t sample, const struct stamp *stamp,
				 const uint8_t *bytes, size_t size);
/* All indexes, by sample, as they are just now. 0, what `each` returned, or -ENOMEM. */
int seek_index_set_each(const struct seek_index_set *seek_indexes, seek_index_set_visit *each,
			void *context);
/* Grows with all that is learnt. */
uint64_t seek_index_set_changes(const struct seek_index_set *seek_indexes);

#endif
