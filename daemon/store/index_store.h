/* SPDX-License-Identifier: MIT */
/*
 * The index store: a directory that keeps seek indexes (seek_index_set.h) and statistics
 * (statistics.h) between runs of the daemon, in one file for each dataset and owner, named by both.
 * Files are replaced atomically: written under another name, synced, renamed. Daemons
 * may share a directory; of two that write the same file the last one wins.
 *
 * Owns the directory's descriptor. Any number of threads at a time. Blocks on storage. Trusts
 * nothing that it reads (index_store_file.h), and no directory that others may write. Knows no
 * dataset and no loop.
 *
 * Conditions: INDEX_STORE_E_..., with words in `fault` for all but INDEX_STORE_E_NONE.
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
	INDEX_STORE_E_NONE = 1, /* there is no file for this dataset */
	INDEX_STORE_E_DAMAGED,	/* the file, or its end, is damaged */
	INDEX_STORE_E_OTHER,	/* a file of another version, machine or dataset */
	INDEX_STORE_E_SYSTEM,	/* a system call failed: no permission, ... */
	INDEX_STORE_E_STOPPED,	/* the deadline has passed */
	INDEX_STORE_E_FULL,	/* the disk has no room for it */
};

/* The dataset that a file is for, whose file it is (base/owner.h), and the secret that the stamps
 * in it are made with. */
struct index_store_key {
	struct digest fingerprint;
	uint64_t samples;
	uint32_t owner;
	struct digest_secret secret;
};

/* The deadline, in clock_ns(); another thread may bring it forward meanwhile. */
struct index_store_until {
	_Atomic uint64_t ns;
};
#define INDEX_STORE_UNTIL_NEVER ((struct index_store_until){UINT64_MAX})

/* Amount that was read or written. */
struct index_store_sum {
	uint64_t indexes, bytes;
};

struct index_store;

/* Open the directory, or create it (but not its parent). All files together stay within `limit`
 * bytes, by owner (index_dir.h). 0, INDEX_STORE_E_SYSTEM or -ENOMEM. */
int index_store_open(struct index_store **out, const char *path, uint64_t limit,
		     struct fault *fault);
void index_store_close(struct index_store *store); /* no other call may be under way */
/* Somebody else has written into the directory: bring it within the limit. */
void index_store_trim(const struct index_store *store);

/* Load the stored indexes of a dataset into its set, as far as there is room: those of the key's
 * owner, or else those of all; the key's secret becomes the file's, if it can be read. 0,
 * INDEX_STORE_E_NONE, INDEX_STORE_E_DAMAGED, INDEX_STORE_E_OTHER, INDEX_STORE_E_SYSTEM,
 * INDEX_STORE_E_STOPPED or -ENOMEM. */
int index_store_load(struct index_store *store, struct index_store_key *key,
		     struct seek_index_set *set, const struct index_store_until *until,
		     struct index_store_sum *out, struct fault *fault);
/* Save a set, replacing the dataset's file; other threads may add to the set meanwhile. 0,
 * INDEX_STORE_E_SYSTEM, INDEX_STORE_E_FULL, INDEX_STORE_E_STOPPED or -ENOMEM; on failure the old
 * file stays. */
int index_store_save(struct index_store *store, const struct index_store_key *key,
		     const struct seek_index_set *set, const struct index_store_until *until,
		     struct index_store_sum *out, struct fault *fault);

/* Save statistics, in a file for each dataset, name and owner, in the same way. Those of one user
 * take no more than an eighth of the limit: the least recently used of them go. 0,
 * INDEX_STORE_E_SYSTEM, INDEX_STORE_E_FULL or -ENOMEM. */
int index_store_save_statistics(struct index_store *store, struct statistics *statistics,
				struct fault *fault);
/* Prepend to the list `*out` the stored statistics of the dataset that this owner has or that are
 * of all, at most INDEX_STORE_STATISTICS_MAX of each. Returns how many files could not be read;
 * `fault` is of the last. */
#define INDEX_STORE_STATISTICS_MAX 64
unsigned index_store_load_statistics(struct index_store *store, const struct digest *fingerprint,
				     uint32_t owner, struct statistics **out, struct fault *fault);

#endif
