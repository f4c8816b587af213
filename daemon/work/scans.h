/* SPDX-License-Identifier: MIT */
/*
 * The scan indexes (scan.h) of one dataset, by sample, for all of its streams and any number of
 * threads: no lock, what is found stays where it is until the store is freed. An index belongs to
 * one state of its file and is never given out for another. All stores together keep within one
 * budget; a sample for which there is no room is simply not remembered.
 *
 * Knows no file and no JPEG: an index is bytes, or the reason why there is none.
 */
#ifndef STOKER_WORK_SCANS_H
#define STOKER_WORK_SCANS_H

#include <stdatomic.h>
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
/* Remember an index (copied), or a reason why there is none; in place of what was there. */
void scans_put(struct scans *scans, uint64_t sample, const struct stamp *stamp,
	       const uint8_t *bytes, size_t size);
void scans_refuse(struct scans *scans, uint64_t sample, const struct stamp *stamp, int reason);

#endif
