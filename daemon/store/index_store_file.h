/* SPDX-License-Identifier: MIT */
/*
 * One file of the shelf (shelf.h): the scan indexes of one dataset, in the machine's byte order.
 *
 *	header (its last 16 bytes: XXH3-128 of what is before), then records with rising samples:
 *	XXH3-128 of the rest, sample, stamp of its file, size (u32), 4 bytes of zero, the index
 *
 * Streams in both directions through one block of memory. What is read is hostile: every size is
 * held against the file's own before it is used, a record counts only with its sum, and reading
 * ends at the first that does not fit. Whether an index is one of its picture is not known here:
 * seek_index_open() looks when it is used. One thread at a time; knows no name and no directory.
 */
#ifndef STOKER_STORE_INDEX_STORE_FILE_H
#define STOKER_STORE_INDEX_STORE_FILE_H

#include "base/fault.h"
#include "store/index_store.h"

/* Read `fd` from its start into `scans`. 0, INDEX_STORE_E_DAMAGED (what stands before is in
 * `scans`), INDEX_STORE_E_OTHER, INDEX_STORE_E_SYSTEM, INDEX_STORE_E_STOPPED or -ENOMEM. */
int index_store_file_read(int fd, const struct index_store_key *key,
			  struct seek_index_set *seek_indexes,
			  const struct index_store_until *until, struct index_store_sum *out,
			  struct fault *fault);
/* Write all of `scans` to the empty file `fd`, and to the disk. 0, INDEX_STORE_E_SYSTEM,
 * INDEX_STORE_E_STOPPED or -ENOMEM. */
int index_store_file_write(int fd, const struct index_store_key *key,
			   const struct seek_index_set *seek_indexes,
			   const struct index_store_until *until, struct index_store_sum *out,
			   struct fault *fault);

#endif
