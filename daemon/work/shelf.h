/* SPDX-License-Identifier: MIT */
/*
 * The shelf: a directory where scan indexes (scans.h) and statistics (statistics.h) outlive the
 * daemon, a file for each dataset, named by its fingerprint. A file is whole or it is not there:
 * written under another name, synced, renamed. Daemons may share a shelf; of two that write the
 * same file the last one stays.
 *
 * Owns the directory's descriptor. Any thread, and any number of them. Blocks on storage. Trusts
 * nothing that it reads (shelf_file.h), and no directory that others may write.
 *
 * Conditions: SHELF_E_..., with words for all but SHELF_E_NONE.
 */
#ifndef STOKER_WORK_SHELF_H
#define STOKER_WORK_SHELF_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/fault.h"
#include "work/scans.h"
#include "work/statistics.h"

enum {
	SHELF_E_NONE = 1, /* nothing is kept of this dataset */
	SHELF_E_DAMAGED,  /* the rest of the file is not what was written */
	SHELF_E_OTHER,	  /* a file of another version, machine or dataset */
	SHELF_E_SYSTEM,	  /* the system refused: no room, no permission */
	SHELF_E_STOPPED,  /* the time was up */
};

/* Which dataset. */
struct shelf_key {
	struct digest fingerprint;
	uint64_t samples;
};

/* When to give up, in clock_ns(); may be brought forward while it runs. */
struct shelf_until {
	_Atomic uint64_t ns;
};
#define SHELF_UNTIL_NEVER ((struct shelf_until){UINT64_MAX})

/* What was read or written. */
struct shelf_sum {
	uint64_t indexes, bytes;
};

struct shelf;

/* Open the directory, or make it (but not what it stands in). All files together stay within
 * `limit` bytes: the oldest go. 0, SHELF_E_SYSTEM or -ENOMEM. */
int shelf_open(struct shelf **out, const char *path, uint64_t limit, struct fault *fault);
void shelf_close(struct shelf *shelf); /* no other call may be under way */

/* Put what is kept of a dataset into its store, as far as there is room. 0, SHELF_E_NONE,
 * SHELF_E_DAMAGED, SHELF_E_OTHER, SHELF_E_SYSTEM, SHELF_E_STOPPED or -ENOMEM. */
int shelf_load(struct shelf *shelf, const struct shelf_key *key, struct scans *scans,
	       const struct shelf_until *until, struct shelf_sum *out, struct fault *fault);
/* Keep a store in place of what was kept; others may go on putting. 0, SHELF_E_SYSTEM,
 * SHELF_E_STOPPED or -ENOMEM; on failure the old file stays. */
int shelf_save(struct shelf *shelf, const struct shelf_key *key, const struct scans *scans,
	       const struct shelf_until *until, struct shelf_sum *out, struct fault *fault);

/* Statistics stand beside the indexes: a file for each name. The same rules. 0, SHELF_E_SYSTEM or
 * -ENOMEM. */
int shelf_save_statistics(struct shelf *shelf, struct statistics *statistics, struct fault *fault);
/* Put before `*out` all that are kept of the dataset, SHELF_STATISTICS_MAX at most. What is damaged
 * is left out, and `fault` has words of the last of it; how many were left out. */
#define SHELF_STATISTICS_MAX 64
unsigned shelf_load_statistics(struct shelf *shelf, const struct digest *fingerprint,
			       struct statistics **out, struct fault *fault);

#endif
