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
#ifndef STOKER_WORK_SCANS_H
#define STOKER_WORK_SCANS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "work/scan.h"
#include "work/stamp.h"

/* What all stores have in common; outlives them. Anyone may look at any time. */
struct scans_account {
	uint64_t limit; /* bytes; 0: nothing is remembered */
	_Atomic uint64_t bytes;
	_Atomic uint64_t built, used;
	_Atomic uint64_t full;			/* visits without an index for want of room */
	_Atomic uint64_t refused[SCAN_REASONS]; /* files, by SCAN_E_... */
};

struct scans;

int scans_new(struct scans **out, struct scans_account *account, uint64_t samples); /* or -ENOMEM */
void scans_free(struct scans *scans); /* no other call may be under way */

enum scans_answer {
	SCANS_NONE,  /* not remembered yet: build it */
	SCANS_INDEX, /* there it is */
	SCANS_NEVER, /* no index for this file, or no room */
};

/* What is remembered of a sample whose file has this stamp. The bytes live as long as the store. */
enum scans_answer scans_find(struct scans *scans, uint64_t sample, const struct stamp *stamp,
			     const uint8_t **bytes_out, size_t *size_out);
/*
 * Remember an index (copied), or what it knows beyond the one with this stamp that is there.
 * scans_put() is for one just made, and counts it; scans_load() for one that comes from outside, as
 * scans_each() gave it: one of another file is found out when it is used. False if it is not new,
 * or there is no room, or these bytes are none.
 */
bool scans_put(struct scans *scans, uint64_t sample, const struct stamp *stamp,
	       const uint8_t *bytes, size_t size);
bool scans_load(struct scans *scans, uint64_t sample, const struct stamp *stamp,
		const uint8_t *bytes, size_t size);
/* Remember why there is none, in place of what was there. */
void scans_refuse(struct scans *scans, uint64_t sample, const struct stamp *stamp, int reason);

/* What is remembered of a sample: 0 if it is an index, of so many bytes; a reason why there is
 * none; SCAN_REASONS if it is nothing, for want of room. */
int scans_verdict(struct scans *scans, uint64_t sample, const struct stamp *stamp,
		  uint64_t *bytes_out);

/* What `each` gets may be kept and moved; it lives for the call. Not 0: stop, and return it. */
typedef int scans_visit(void *context, uint64_t sample, const struct stamp *stamp,
			const uint8_t *bytes, size_t size);
/* All indexes, by sample, as they are just now. 0, what `each` returned, or -ENOMEM. */
int scans_each(const struct scans *scans, scans_visit *each, void *context);
/* Grows with all that is learnt. */
uint64_t scans_changes(const struct scans *scans);

#endif
