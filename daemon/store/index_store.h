/* SPDX-License-Identifier: MIT */
/*
 * The shelf: a directory where scan indexes (scans.h) and statistics (statistics.h) outlive the
 * daemon, a file for each dataset, named by its fingerprint. A file is whole or it is not there:
 * written under another name, synced, renamed. Daemons may share a shelf; of two that write the
 * same file the last one stays.
 *
 * Owns the directory's descriptor. Any thread, and any number of them. Blocks on storage. Trusts
 * nothing that it reads (index_store_file.h), and no directory that others may write.
 *
 * Conditions: INDEX_STORE_E_..., with words for all but INDEX_STORE_E_NONE.
 */
#ifndef STOKER_STORE_INDEX_STORE_H
#define STOKER_STORE_INDEX_STORE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/fault.h"
#include "decode/jpeg/seek_index_set.h"
#include "statistics/statistics.h"

enum {
	INDEX_STORE_E_NONE = 1, /* nothing is kept of this dataset */
	INDEX_STORE_E_DAMAGED,	/* the rest of the file is not what was written */
	INDEX_STORE_E_OTHER,	/* a file of another version, machine or dataset */
	INDEX_STORE_E_SYSTEM,	/* the system refused: no room, no permission */
	INDEX_STORE_E_STOPPED,	/* the time was up */
};

/* Which dataset. */
struct index_store_key {
	struct digest fingerprint;
	uint64_t samples;
};

/* When to give up, in clock_ns(); may be brought forward while it runs. */
struct index_store_until {
	_Atomic uint64_t ns;
};
#define INDEX_STORE_UNTIL_NEVER ((struct index_store_until){UINT64_MAX})

/* What was read or written. */
struct index_store_sum {
	uint64_t indexes, bytes;
};

struct index_store;

/* Open the directory, or make it (but not what it stands in). All files together stay within
 * `limit` bytes: the oldest go. 0, INDEX_STORE_E_SYSTEM or -ENOMEM. */
int index_store_open(struct index_store **out, const char *path, uint64_t limit,
		     struct fault *fault);
void index_store_close(struct index_store *index_store); /* no other call may be under way */

/* Put what is kept of a dataset into its store, as far as there is room. 0, INDEX_STORE_E_NONE,
 * INDEX_STORE_E_DAMAGED, INDEX_STORE_E_OTHER, INDEX_STORE_E_SYSTEM, INDEX_STORE_E_STOPPED or
 * -ENOMEM. */
int index_store_load(struct index_store *index_store, const struct index_store_key *key,
		     struct seek_index_set *seek_indexes, const struct index_store_until *until,
		     struct index_store_sum *out, struct fault *fault);
/* Keep a store in place of what was kept; others may go on putting. 0, INDEX_STORE_E_SYSTEM,
 * INDEX_STORE_E_STOPPED or -ENOMEM; on failure the old file stays. */
int index_store_save(struct index_store *index_store, const struct index_store_key *key,
		     const struct seek_index_set *seek_indexes,
		     const struct index_store_until *until, struct index_store_sum *out,
		     struct fault *fault);

/* Statistics stand beside the indexes: a file for each name. The same rules. 0,
 * INDEX_STORE_E_SYSTEM or -ENOMEM. */
int index_store_save_statistics(struct index_store *index_store, struct statistics *statistics,
				struct fault *fault);
/* Put before `*out` all that are kept of the dataset, INDEX_STORE_STATISTICS_MAX at most. What is
 * damaged is left out, and `fault` has words of the last of it; how many were left out. */
#define INDEX_STORE_STATISTICS_MAX 64
unsigned index_store_load_statistics(struct index_store *index_store,
				     const struct digest *fingerprint, struct statistics **out,
				     struct fault *fault);

#endif
